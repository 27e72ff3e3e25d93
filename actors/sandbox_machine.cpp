#include "actors/sandbox_machine.hpp"

#include <utility>

namespace berth {

// -- the frame: look up, act, check ------------------------------------------------------------------------------------

const transition& sandbox_machine::arrive(event what) {
  const auto& cell = lookup(state_, what);
  if (cell.what == action::defect) {
    ++defects_;
    port_.complain(to_string(what) + " arrived in " + to_string(state_) + ", where it cannot");
  }
  return cell;
}

void sandbox_machine::left(sandbox_state from, event what, state_set allowed) {
  if ((bit(state_) & allowed) == 0) {
    ++defects_;
    port_.complain(to_string(what) + " led from " + to_string(from) + " to " + to_string(state_)
                   + ", which the table does not allow");
  }
  port_.visited(from, what, state_);
}

// An answer belongs to the step that asked; the steps of a state that was left are over.
bool sandbox_machine::is_current(step_number step, event) const { return step == step_no_; }

void sandbox_machine::enter(sandbox_state state, step next) {
  if (state != state_)
    entered_ns_ = port_.now_ns();
  state_ = state;
  step_ = next;
  ++step_no_;
}

// -- requests ----------------------------------------------------------------------------------------------------------

void sandbox_machine::acquire(const scope& owner, answer<acquired> to) {
  const auto from = state_;
  const auto& cell = arrive(event::acquire);
  // An adopted orphan may not know its scope; the first acquire of its id names it (spec H3).
  if (scope_.user.empty())
    scope_ = owner;
  if (scope_ != owner) {
    to.fail(make_error(errc::id_collision,
                       "id " + id_.value + " belongs to " + to_text(scope_) + ", not to " + to_text(owner)));
    return left(from, event::acquire, bit(from));
  }
  waiters_.push_back(std::move(to));
  if (cell.what == action::open)
    begin_opening();
  left(from, event::acquire, cell.next);
}

void sandbox_machine::release(answer<released> to) {
  const auto from = state_;
  const auto& cell = arrive(event::release);
  switch (cell.what) {
  case action::park:
    releasers_.push_back(std::move(to));
    begin_parking();
    break;
  case action::wait_in_line:
    releasers_.push_back(std::move(to));
    break;
  default:
    to.ok(released{id_, state_, 0});
  }
  left(from, event::release, cell.next);
}

void sandbox_machine::close(close_reason reason, answer<close_answer> to) {
  const auto from = state_;
  const auto& cell = arrive(event::close);
  switch (cell.what) {
  case action::close:
    closers_.push_back(std::move(to));
    begin_closing(reason);
    break;
  case action::wait_in_line:
    closers_.push_back(std::move(to));
    if (state_ != sandbox_state::closing) {
      close_waits_ = true;
      reason_ = reason;
      // Whoever stands in line for a slot leaves it: the close must not wait for somebody else's release.
      if (step_ == step::reserving)
        port_.free_slot();
    }
    break;
  default:
    to.ok(close_answer{id_, close_outcome::unknown_id});
  }
  left(from, event::close, cell.next);
}

void sandbox_machine::reap(std::int64_t parked_at_ns, close_reason reason, answer<close_answer> to) {
  const auto from = state_;
  const auto& cell = arrive(event::reap);
  // Deciding and acting are one message here: nothing can come between "still reapable?" and the mark (spec R10).
  if (cell.what == action::close_if_same && parked_at_ns == parked_at_ns_ && operations_ == 0) {
    closers_.push_back(std::move(to));
    begin_closing(reason);
  } else {
    to.ok(close_answer{id_, close_outcome::refused});
  }
  left(from, event::reap, cell.next);
}

void sandbox_machine::reap_idle(std::int64_t limit_ns) {
  const auto from = state_;
  const auto& cell = arrive(event::reap_idle);
  if (cell.what == action::close_if_idle && operations_ == 0 && port_.now_ns() - last_activity_ns_ > limit_ns)
    begin_closing(close_reason::idle);
  left(from, event::reap_idle, cell.next);
}

void sandbox_machine::adopt(const instance& found, answer<adopt_answer> to) {
  const auto from = state_;
  const auto& cell = arrive(event::adopt);
  if (cell.what == action::adopt) {
    adopter_ = std::move(to);
    adopt_only_ = true;
    instance_ = found.instance;
    if (scope_.user.empty())
      scope_ = found.owner_scope;
    resume_ = sandbox_state::absent;
    enter(sandbox_state::opening, step::adopting);
    ++publishes_;
    port_.ask_claim(step_no_, false);
  } else {
    to.ok(adopt_answer{id_, false});
  }
  left(from, event::adopt, cell.next);
}

void sandbox_machine::renew_tick() {
  const auto from = state_;
  const auto& cell = arrive(event::renew_tick);
  // While opening there is nothing to renew before the take is granted.
  if (cell.what == action::renew && !renewal_out_ && (state_ != sandbox_state::opening || published_)) {
    renewal_out_ = true;
    renewal_mark_ = publishes_;
    port_.ask_renew();
  }
  left(from, event::renew_tick, cell.next);
}

caf::error sandbox_machine::begin_operation() {
  const auto from = state_;
  const auto& cell = arrive(event::operate);
  caf::error refusal;
  // A second acquire of an active sandbox passes through opening; what runs goes on running.
  const auto usable =
      state_ == sandbox_state::active || (state_ == sandbox_state::opening && resume_ == sandbox_state::active);
  if (cell.what == action::run && usable) {
    ++operations_;
    last_activity_ns_ = port_.now_ns();
  } else if (state_ == sandbox_state::absent) {
    refusal = make_error(errc::sandbox_unknown, "sandbox " + id_.value + " was closed");
  } else if (state_ == sandbox_state::closing) {
    refusal = make_error(errc::being_destroyed, "sandbox " + id_.value + " is closing");
  } else {
    refusal = make_error(errc::sandbox_not_active, "sandbox " + id_.value + " is " + to_string(state_));
  }
  left(from, event::operate, cell.next);
  return refusal;
}

void sandbox_machine::end_operation() {
  --operations_;
  last_activity_ns_ = port_.now_ns();
  if (operations_ > 0)
    return;
  const auto from = state_;
  const auto& cell = arrive(event::drained);
  if (cell.what == action::advance && step_ == step::draining)
    start_renewing();
  left(from, event::drained, cell.next);
}

// -- ends --------------------------------------------------------------------------------------------------------------

// Back to where it was before an opening or a closing that did not happen.
void sandbox_machine::restore() {
  if (resume_ == sandbox_state::absent)
    return become_absent();
  const auto was_closing = state_ == sandbox_state::closing;
  enter(resume_, step::none);
  if (resume_ == sandbox_state::warm) {
    if (was_closing)
      port_.close_client();
    // The place in the pool's order stays what it was: a failed stop must not look like a fresh release.
    if (parked_at_ns_ == 0)
      parked_at_ns_ = port_.now_ns();
    port_.tell_parked(parked_at_ns_);
  }
  serve_line();
}

// Not ours: drop every trace of it and leave the instance alone.
void sandbox_machine::forget(const caf::error& reason) {
  port_.close_client();
  instance_ = {};
  if (std::exchange(has_slot_, false))
    port_.free_slot();
  port_.tell_departed();
  answer_adopter(false);
  for (auto& r : std::exchange(releasers_, {}))
    r.ok(released{id_, sandbox_state::absent, std::exchange(interrupted_, 0)});
  // An acquire that waited behind a parking or a teardown was promised its turn; one that was being served failed.
  if (state_ == sandbox_state::opening)
    fail_waiters(reason);
  become_absent();
}

void sandbox_machine::become_absent() {
  adopt_only_ = false;
  retake_ = false;
  published_ = false;
  parked_at_ns_ = 0;
  resume_ = sandbox_state::absent;
  enter(sandbox_state::absent, step::none);
  answer_closers(close_outcome::closed);
  close_waits_ = false;
  serve_line();
}

void sandbox_machine::serve_line() {
  if (close_waits_) {
    fail_waiters(make_error(errc::cancelled, "sandbox " + id_.value + " was closed"));
    return begin_close_in_line();
  }
  if (!waiters_.empty())
    return begin_opening();
  if (state_ == sandbox_state::absent)
    port_.tell_retired();
}

void sandbox_machine::fail_waiters(const caf::error& reason) {
  for (auto& waiter : std::exchange(waiters_, {}))
    waiter.fail(reason);
}

void sandbox_machine::answer_closers(close_outcome outcome) {
  for (auto& closer : std::exchange(closers_, {}))
    closer.ok(close_answer{id_, outcome});
}

void sandbox_machine::answer_adopter(bool adopted) { std::exchange(adopter_, {}).ok(adopt_answer{id_, adopted}); }

void sandbox_machine::abandon(const caf::error& reason) {
  fail_waiters(reason);
  for (auto& r : std::exchange(releasers_, {}))
    r.fail(reason);
  for (auto& c : std::exchange(closers_, {}))
    c.fail(reason);
  std::exchange(adopter_, {}).fail(reason);
}

sandbox_status sandbox_machine::status() {
  const auto now = port_.now_ns();
  const auto ms_since = [now](std::int64_t then) { return then == 0 ? 0 : (now - then) / 1'000'000; };
  return {id_,
          scope_,
          state_,
          instance_,
          epoch_,
          operations_,
          static_cast<std::int32_t>(waiters_.size()),
          ms_since(last_activity_ns_),
          ms_since(entered_ns_)};
}

} // namespace berth
