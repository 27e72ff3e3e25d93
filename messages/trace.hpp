#pragma once
// The seam for message tracing, and the bound of every request: the two mix-ins under each actor of berth.
#include <chrono>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace berth {

/// Lets a tracer see every message of an actor. Switched off it costs one relaxed load per message.
template <class Base>
class traced : public Base {
public:
  using Base::Base;
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
