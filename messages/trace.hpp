#pragma once
// The seam for message tracing, and the bound of every request: the two mix-ins under each actor of berth.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace berth {

/// What a traced message was.
enum class trace_kind : std::uint8_t { sent, request, response };

/// One message from its queueing to the end of its handling, as a sink gets it. Times are nanoseconds of the actor
/// system's clock, so that a simulation owns them.
struct trace_event {
  std::uint64_t trace = 0;   ///< shared by all that one first message caused
  std::uint64_t span = 0;    ///< this message; grows with the order of queueing
  std::uint64_t parent = 0;  ///< the message whose handling sent this one; 0 = none, a first message
  std::uint64_t answers = 0; ///< of a response: the span of its request, 0 where that was not seen
  trace_kind kind = trace_kind::sent;
  bool handled = false; ///< false: dropped unseen, since its receiver had ended or awaited no such response any more
  caf::actor_id sender = 0; ///< 0 = the clock, or nobody
  caf::actor_id receiver = 0;
  const char* sender_name = "";
  const char* receiver_name = "";
  std::int64_t queued_ns = 0;
  std::int64_t started_ns = 0; ///< queued_ns where not handled
  std::int64_t ended_ns = 0;
  std::string message; ///< as it prints itself: bytes and environment values never appear
};

/// Receives trace events. Called by whichever thread handled the message: must be quick, and safe to be called by
/// several at once.
class trace_sink {
public:
  virtual ~trace_sink() = default;
  virtual void on_event(trace_event event) noexcept = 0;
};

/// Switches tracing on for this process, into `sink`; with null, off. What is queued at that moment still goes to
/// the sink that was installed when it was sent.
void install_trace_sink(std::shared_ptr<trace_sink> sink);

namespace detail {

/// Read once per message; the one thing that tracing costs while it is off.
extern std::atomic<bool> trace_on;

/// Wraps a mailbox element so that the sink learns when its handling starts and ends, and so that whatever its handling
/// sends is known to be caused by it.
caf::mailbox_element_ptr trace_wrap(caf::mailbox_element_ptr element, caf::local_actor& receiver);

/// Keeps the cause of one actor's run from leaking into what the same thread does afterwards.
class trace_run {
public:
  explicit trace_run(const caf::local_actor& self);
  ~trace_run();
  trace_run(const trace_run&) = delete;
  trace_run& operator=(const trace_run&) = delete;

private:
  const caf::local_actor* self_;
  std::uint64_t trace_;
  std::uint64_t span_;
};

// ThreadSanitizer sees nothing of the synchronisation inside CAF's library, which the distribution builds without it. The
// wrapper tells it what a mailbox guarantees (trace.cpp), so it is under every message of such a build.
void trace_launch(const caf::local_actor& self);

#if defined(__SANITIZE_THREAD__)
inline constexpr bool trace_always = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool trace_always = true;
#else
inline constexpr bool trace_always = false;
#endif
#else
inline constexpr bool trace_always = false;
#endif

inline bool tracing() { return trace_always || trace_on.load(std::memory_order_relaxed); }

} // namespace detail

/// Lets a trace sink see every message of an actor: requests, responses, sends, timeouts, exits. Switched off it
/// costs one relaxed load per message, and nothing in the actor.
template <class Base>
class traced : public Base {
public:
  using Base::Base;
  using Base::enqueue;

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* context) override {
    if (detail::tracing())
      element = detail::trace_wrap(std::move(element), *this);
    Base::enqueue(std::move(element), context);
  }

  caf::resumable::resume_result resume(caf::execution_unit* context, std::size_t max_throughput) override {
    if (!detail::tracing())
      return Base::resume(context, max_throughput);
    const detail::trace_run run{*this};
    return Base::resume(context, max_throughput);
  }

  void launch(caf::execution_unit* context, bool lazy, bool hide) override {
    if constexpr (detail::trace_always)
      detail::trace_launch(*this);
    Base::launch(context, lazy, hide);
  }
};

/// Bounds requests with one clock entry per actor instead of one per request. CAF's own request timeouts cost a
/// locked insert each and stay in the clock until they expire, also after the answer: at 100,000 requests a second
/// with a bound of 5 s that is half a million entries. Here the deadlines sit in the actor; a single sentinel request
/// wakes it when the earliest one may have passed.
template <class Base>
class bounded : public Base {
public:
  using Base::Base;

  /// Bounds the outstanding request `id`.
  void watch(caf::message_id id, std::chrono::milliseconds bound) {
    const auto due = this->clock().now() + bound;
    deadlines_.push_back({id, due});
    if (!armed_ || due < wake_at_)
      arm(bound);
  }

  /// Forgets `id`: it was answered.
  void unwatch(caf::message_id id) {
    for (auto& d : deadlines_)
      if (d.id == id) {
        d = deadlines_.back();
        deadlines_.pop_back();
        return;
      }
  }

private:
  struct deadline {
    caf::message_id id;
    caf::actor_clock::time_point due;
  };

  void arm(std::chrono::milliseconds after) {
    armed_ = true;
    wake_at_ = this->clock().now() + after;
    const auto id = this->new_request_id(caf::message_priority::normal);
    this->request_response_timeout(caf::duration{after}, id);
    const auto generation = ++generation_;
    this->add_multiplexed_response_handler(id.response_id(), caf::behavior{[](caf::unit_t) {},
                                                                           [this, generation](caf::error&) {
                                                                             if (generation == generation_)
                                                                               sweep();
                                                                           }});
  }

  void sweep() {
    armed_ = false;
    const auto now = this->clock().now();
    auto earliest = caf::actor_clock::time_point::max();
    for (const auto& d : deadlines_) {
      if (d.due <= now)
        this->enqueue(caf::make_mailbox_element(nullptr, d.id, {}, caf::make_error(caf::sec::request_timeout)),
                      this->context());
      else
        earliest = std::min(earliest, d.due);
    }
    if (earliest != caf::actor_clock::time_point::max())
      arm(std::chrono::ceil<std::chrono::milliseconds>(earliest - now));
  }

  std::vector<deadline> deadlines_;
  caf::actor_clock::time_point wake_at_{};
  std::uint64_t generation_ = 0;
  bool armed_ = false;
};

/// Wraps a response handler so that its deadline is forgotten first. Keeps the handler's parameter type, which CAF
/// checks against the receiver's interface.
template <class Self, class R, class Arg, class C>
auto wrap_call(Self* self, caf::message_id id, C f, R (C::*)(Arg)) {
  return [self, id, f = std::move(f)](Arg x) mutable {
    self->unwatch(id);
    f(std::forward<Arg>(x));
  };
}
template <class Self, class R, class Arg, class C>
auto wrap_call(Self* self, caf::message_id id, C f, R (C::*)(Arg) const) {
  return [self, id, f = std::move(f)](Arg x) mutable {
    self->unwatch(id);
    f(std::forward<Arg>(x));
  };
}
template <class Self, class F>
auto wrap_response(Self* self, caf::message_id id, F f) {
  return wrap_call(self, id, std::move(f), &F::operator());
}

} // namespace berth
