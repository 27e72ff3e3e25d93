#pragma once
// The one header that knows which CAF is installed (0.17.6 today) and what every actor of berth has in common:
//   actor_of<R(A...), ...>      a typed interface
//   self_ptr<Handle, State>     the self pointer of a function-based actor; carries the tracing seam
//   answer<T>                   a promise that cannot be forgotten
//   ask(self, dest, bound, ...) a request that always ends, at no cost per request
//   BERTH_MESSAGE(type, ...)    makes a struct cross node boundaries and print itself
// A later CAF release is met here and nowhere else.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "messages/errors.hpp"
#include "messages/trace.hpp"

static_assert(CAF_VERSION >= 1700 && CAF_VERSION < 1800, "messages/caf.hpp is written for CAF 0.17");

namespace berth {

namespace detail {
template <class>
struct signature;
template <class R, class... As>
struct signature<R(As...)> {
  using type = typename caf::replies_to<As...>::template with<R>;
};
template <class... As>
struct signature<void(As...)> {
  using type = caf::reacts_to<As...>;
};
} // namespace detail

/// A typed actor interface, written as function types: `actor_of<reply(request), void(notice)>`.
template <class... Signatures>
using actor_of = caf::typed_actor<typename detail::signature<Signatures>::type...>;

/// The self pointer of an actor with interface `Handle` and state `State`.
template <class Handle, class State>
using self_ptr = caf::stateful_actor<State, bounded<traced<typename Handle::base>>>*;

/// The self pointer of an untyped actor with state `State`.
template <class State>
using untyped_self_ptr = caf::stateful_actor<State, bounded<traced<caf::event_based_actor>>>*;

/// A response promise that is always answered. CAF 0.17 keeps silent when a promise is dropped or its actor dies, so
/// the caller would learn nothing before its own timeout. Copies share one promise; when the last copy goes without
/// an answer, the caller gets `errc::promise_forgotten`. For use inside the owning actor only.
template <class T>
class answer {
public:
  answer() = default;

  template <class Self>
  explicit answer(Self* self) : shared_(std::make_shared<guard>(self->template make_response_promise<T>())) {}

  /// Delivers the value, unless an answer was given before.
  template <class U>
  void ok(U&& value) const {
    if (open())
      shared_->promise.deliver(std::forward<U>(value));
  }

  /// Delivers an error, unless an answer was given before.
  void fail(caf::error reason) const {
    if (open())
      shared_->promise.deliver(std::move(reason));
  }

  /// Whether somebody still waits for this answer.
  [[nodiscard]] bool open() const { return shared_ && shared_->promise.pending(); }

  /// What a handler returns after it has kept a copy.
  operator caf::result<T>() const { return caf::delegated<T>{}; } // NOLINT(google-explicit-constructor)

private:
  struct guard {
    caf::typed_response_promise<T> promise;
    explicit guard(caf::typed_response_promise<T> p) : promise(std::move(p)) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() {
      if (promise.pending())
        promise.deliver(make_error(errc::promise_forgotten));
    }
  };
  std::shared_ptr<guard> shared_;
};

/// Sends `request` to `dest` and calls `on_value(reply)` or `on_error(error)`, one of them exactly once and not later
/// than `bound` (see `bounded`). An unanswered request fails with `caf::sec::request_timeout`; a reply that comes
/// after that is dropped.
template <class Self, class Handle, class Request, class OnValue, class OnError>
void ask(Self* self, const Handle& dest, std::chrono::milliseconds bound, Request&& request, OnValue on_value,
         OnError on_error) {
  auto pending = self->request(dest, caf::infinite, std::forward<Request>(request));
  const auto id = pending.id();
  self->watch(id, bound);
  // The handlers may quit the actor or ask again: the entry is gone before they run.
  pending.then(wrap_response(self, id, std::move(on_value)),
               [self, id, f = std::move(on_error)](caf::error& e) mutable {
                 self->unwatch(id);
                 f(e);
               });
}

} // namespace berth

#define BERTH_PP_1(m, a) m(a)
#define BERTH_PP_2(m, a, ...) m(a), BERTH_PP_1(m, __VA_ARGS__)
#define BERTH_PP_3(m, a, ...) m(a), BERTH_PP_2(m, __VA_ARGS__)
#define BERTH_PP_4(m, a, ...) m(a), BERTH_PP_3(m, __VA_ARGS__)
#define BERTH_PP_5(m, a, ...) m(a), BERTH_PP_4(m, __VA_ARGS__)
#define BERTH_PP_6(m, a, ...) m(a), BERTH_PP_5(m, __VA_ARGS__)
#define BERTH_PP_7(m, a, ...) m(a), BERTH_PP_6(m, __VA_ARGS__)
#define BERTH_PP_8(m, a, ...) m(a), BERTH_PP_7(m, __VA_ARGS__)
#define BERTH_PP_9(m, a, ...) m(a), BERTH_PP_8(m, __VA_ARGS__)
#define BERTH_PP_10(m, a, ...) m(a), BERTH_PP_9(m, __VA_ARGS__)
#define BERTH_PP_11(m, a, ...) m(a), BERTH_PP_10(m, __VA_ARGS__)
#define BERTH_PP_12(m, a, ...) m(a), BERTH_PP_11(m, __VA_ARGS__)
#define BERTH_PP_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, name, ...) name
#define BERTH_PP_MAP(m, ...)                                                                                           \
  BERTH_PP_PICK(__VA_ARGS__, BERTH_PP_12, BERTH_PP_11, BERTH_PP_10, BERTH_PP_9, BERTH_PP_8, BERTH_PP_7, BERTH_PP_6,    \
                BERTH_PP_5, BERTH_PP_4, BERTH_PP_3, BERTH_PP_2, BERTH_PP_1)                                            \
  (m, __VA_ARGS__)
#define BERTH_FIELD(field) x_.field

/// Makes `type` inspectable: it can be sent to another node and printed. Fields travel by position, without names: any
/// change of them is a new protocol, and the application identifier (runtime/cluster.hpp) must say so.
#define BERTH_MESSAGE(type, ...)                                                                                       \
  template <class Inspector_>                                                                                          \
  typename Inspector_::result_type inspect(Inspector_& i_, type& x_) {                                                 \
    return i_(caf::meta::type_name("berth::" #type), BERTH_PP_MAP(BERTH_FIELD, __VA_ARGS__));                          \
  }

/// The same for a message without fields.
#define BERTH_EMPTY_MESSAGE(type)                                                                                      \
  template <class Inspector_>                                                                                          \
  typename Inspector_::result_type inspect(Inspector_& i_, type&) {                                                    \
    return i_(caf::meta::type_name("berth::" #type));                                                                  \
  }
