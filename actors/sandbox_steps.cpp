// The steps of the sandbox state machine: what its answers lead to while it opens, parks and closes.
#include <utility>

#include "actors/sandbox_machine.hpp"

namespace berth {

// -- answers -----------------------------------------------------------------------------------------------------------

void sandbox_machine::on_lease(step_number step, event what, const lease_answer& answer) {
  if (!is_current(step, what))
    return;
  const auto from = state_;
  const auto& cell = arrive(what);
  if (cell.what == action::advance)
    advance_lease(what, answer);
  left(from, what, cell.next);
}

void sandbox_machine::advance_lease(event what, const lease_answer& answer) {
  const auto unanswered = make_error(errc::store_unavailable, "ownership of " + id_.value + " cannot be established");
  switch (step_) {
  case step::taking:
    if (what == event::granted) {
      published_ = true;
      retake_ = false;
      epoch_ = answer.epoch;
      if (!instance_.empty()) {
        enter(sandbox_state::opening, step::probing);
        port_.ask_probe(step_no_, instance_);
      } else {
        enter(sandbox_state::opening, step::finding);
        port_.ask_find(step_no_);
      }
    } else if (what == event::refused) {
      // A peer is tearing it down: not ours any more, and creating now would meet its name (spec 3.1).
      if (origin_ == acquire_origin::created && has_slot_ && resume_ == sandbox_state::absent) {
        fail_waiters(make_error(errc::being_destroyed, "held by " + answer.owner.value));
        begin_closing(close_reason::abandoned);
      } else {
        forget(make_error(errc::being_destroyed, "held by " + answer.owner.value));
      }
    } else if (resume_ == sandbox_state::absent && has_slot_) {
      // Just created and cannot be published again: an unpublished sandbox looks like an orphan to peers.
      fail_waiters(unanswered);
      begin_closing(close_reason::abandoned);
    } else {
      fail_waiters(unanswered);
      restore();
    }
    break;
  case step::adopting:
    if (what == event::granted) {
      published_ = true;
      epoch_ = answer.epoch;
      enter(sandbox_state::opening, step::accounting);
      port_.ask_slot(step_no_, true);
    } else {
      instance_ = {};
      answer_adopter(false);
      become_absent();
    }
    break;
  case step::marking:
    if (what == event::granted) {
      enter(sandbox_state::closing, step::stopping);
      beating_ = true;
      port_.close_client();
      port_.schedule_beat();
      port_.ask_destroy(step_no_, instance_, epoch_);
    } else {
      close_refused(close_outcome::refused);
    }
    break;
  default:
    ++defects_;
    port_.complain("a lease answer in a step that asked for none");
  }
}

void sandbox_machine::on_renewal(event what, const lease_answer& answer) {
  renewal_out_ = false;
  const auto from = state_;
  const auto& cell = arrive(what);
  // A take or claim that was sent after this renewal speaks later: whatever the renewal saw is history (spec R17).
  if (renewal_mark_ != publishes_) {
    if (step_ == step::renewing)
      start_renewing();
    return left(from, what, bit(from));
  }
  switch (cell.what) {
  case action::advance:
    if (what == event::renewed && answer.epoch.value != 0)
      epoch_ = answer.epoch;
    if (step_ == step::renewing)
      parked_now();
    break;
  case action::keep:
    if (what == event::renewed && answer.epoch.value != 0)
      epoch_ = answer.epoch;
    break;
  case action::claim_again:
    renewal_out_ = true;
    port_.ask_reclaim();
    break;
  case action::take_again:
    retake_ = true;
    break;
  case action::forget:
    forget(make_error(errc::lease_lost, "sandbox " + id_.value + " is " + answer.owner.value + "'s now"));
    break;
  default:
    break;
  }
  left(from, what, cell.next);
}

void sandbox_machine::on_beat() {
  const auto from = state_;
  const auto& cell = arrive(event::beat);
  if (cell.what == action::beat && step_ == step::stopping && beating_) {
    if (!beat_out_) {
      beat_out_ = true;
      port_.ask_beat();
    }
    port_.schedule_beat();
  }
  left(from, event::beat, cell.next);
}

void sandbox_machine::on_beat_answer(event what) {
  beat_out_ = false;
  const auto from = state_;
  const auto& cell = arrive(event::beat_answered);
  if (cell.what == action::advance) {
    if (what == event::refused) {
      beating_ = false;
      port_.complain("the teardown marker of " + id_.value + " was lost while its stop is under way");
    }
    if (step_ == step::settling)
      unmark();
  }
  left(from, event::beat_answered, cell.next);
}

void sandbox_machine::on_found(step_number step, const instance& found) {
  if (!is_current(step, event::found))
    return;
  const auto from = state_;
  const auto& cell = arrive(event::found);
  if (cell.what != action::advance)
    return left(from, event::found, bit(from));
  if (!found.owner_scope.user.empty() && found.owner_scope != scope_) {
    open_failed(make_error(errc::id_collision, "id " + id_.value + " runs for " + to_text(found.owner_scope)), true);
  } else {
    instance_ = found.instance;
    origin_ = acquire_origin::discovered;
    enter(sandbox_state::opening, step::accounting);
    port_.ask_slot(step_no_, true);
  }
  left(from, event::found, cell.next);
}

void sandbox_machine::on_created(step_number step, const instance& made) {
  if (!is_current(step, event::created))
    return;
  const auto from = state_;
  const auto& cell = arrive(event::created);
  if (cell.what != action::advance)
    return left(from, event::created, bit(from));
  instance_ = made.instance;
  origin_ = acquire_origin::created;
  opened(origin_);
  left(from, event::created, cell.next);
}

void sandbox_machine::on_answer(step_number step, event what, const caf::error& reason) {
  if (!is_current(step, what))
    return;
  const auto from = state_;
  const auto& cell = arrive(what);
  if (cell.what == action::advance) {
    switch (what) {
    case event::stopped:
    case event::stop_failed:
      stop_answered(what == event::stopped, reason);
      break;
    case event::unmarked:
      if (step_ == step::unpublishing)
        become_absent();
      else if (stop_ok_)
        closed_now();
      else
        close_refused(close_outcome::failed);
      break;
    default:
      advance_opening(what, reason);
    }
  }
  left(from, what, cell.next);
}

void sandbox_machine::advance_opening(event what, const caf::error& reason) {
  switch (what) {
  case event::alive:
    opened(origin_);
    break;
  case event::dead:
    // Cleared like any other teardown; the acquires stay in line and cold-start afterwards.
    begin_closing(close_reason::dead);
    break;
  case event::not_found:
    enter(sandbox_state::opening, step::reserving);
    port_.ask_slot(step_no_, false);
    break;
  case event::slot:
    has_slot_ = true;
    if (step_ == step::accounting) {
      opened(origin_);
    } else {
      enter(sandbox_state::opening, step::creating);
      port_.ask_create(step_no_, epoch_);
    }
    break;
  case event::no_slot:
    instance_ = {};
    open_failed(reason, true);
    break;
  case event::create_failed:
    open_failed(reason, true);
    break;
  case event::create_unknown:
    // It may exist, under our epoch: its caller is told, and it is looked for and removed under a teardown mark.
    fail_waiters(reason);
    begin_closing(close_reason::abandoned);
    break;
  default:
    break;
  }
}

// -- opening -----------------------------------------------------------------------------------------------------------

void sandbox_machine::begin_opening() {
  resume_ = state_;
  origin_ = state_ == sandbox_state::active ? acquire_origin::reused : acquire_origin::reclaimed;
  take();
}

// Ownership is published before the slow part, so that no peer ever sees a sandbox of ours unowned.
void sandbox_machine::take() {
  enter(sandbox_state::opening, step::taking);
  published_ = false;
  ++publishes_;
  port_.ask_take(step_no_);
}

void sandbox_machine::opened(acquire_origin origin) {
  if (retake_)
    return take();
  const auto adopted = std::exchange(adopt_only_, false);
  if (adopted)
    answer_adopter(true);
  last_activity_ns_ = port_.now_ns();
  if (close_waits_) {
    fail_waiters(make_error(errc::cancelled, "sandbox " + id_.value + " was closed while it opened"));
    return begin_close_in_line();
  }
  // An orphan was claimed, not taken: acquires that arrived meanwhile open it in the ordinary way.
  if (adopted || waiters_.empty()) {
    resume_ = sandbox_state::warm;
    return parked_now();
  }
  const auto was_active = resume_ == sandbox_state::active;
  enter(sandbox_state::active, step::none);
  if (!was_active)
    port_.tell_unparked();
  for (auto& waiter : std::exchange(waiters_, {})) {
    waiter.ok(acquired{id_, scope_, origin, instance_, epoch_});
    origin = acquire_origin::reused;
  }
}

void sandbox_machine::open_failed(const caf::error& reason, bool published) {
  fail_waiters(reason);
  answer_adopter(false);
  instance_ = {};
  if (std::exchange(has_slot_, false))
    port_.free_slot();
  if (!published)
    return become_absent();
  enter(sandbox_state::opening, step::unpublishing);
  port_.ask_release_lease(step_no_);
}

// -- parking -----------------------------------------------------------------------------------------------------------

void sandbox_machine::begin_parking() {
  interrupted_ = operations_;
  last_activity_ns_ = port_.now_ns();
  if (operations_ > 0) {
    enter(sandbox_state::parking, step::draining);
    port_.drain();
  } else {
    enter(sandbox_state::parking, step::renewing);
    start_renewing();
  }
}

void sandbox_machine::start_renewing() {
  if (step_ != step::renewing)
    enter(sandbox_state::parking, step::renewing);
  if (renewal_out_)
    return;
  renewal_out_ = true;
  renewal_mark_ = publishes_;
  port_.ask_renew();
}

void sandbox_machine::parked_now() {
  port_.close_client();
  enter(sandbox_state::warm, step::none);
  parked_at_ns_ = port_.now_ns();
  port_.tell_parked(parked_at_ns_);
  for (auto& r : std::exchange(releasers_, {}))
    r.ok(released{id_, sandbox_state::warm, std::exchange(interrupted_, 0)});
  serve_line();
}

// -- closing -----------------------------------------------------------------------------------------------------------

void sandbox_machine::begin_closing(close_reason reason) {
  reason_ = reason;
  resume_ = state_ == sandbox_state::active || (state_ == sandbox_state::opening && resume_ == sandbox_state::active)
                ? sandbox_state::active
                : sandbox_state::warm;
  beat_out_ = false;
  beating_ = false;
  retake_ = false;
  published_ = false;
  enter(sandbox_state::closing, step::marking);
  ++publishes_;
  port_.ask_claim(step_no_, true);
}

void sandbox_machine::begin_close_in_line() {
  close_waits_ = false;
  begin_closing(reason_);
}

void sandbox_machine::stop_answered(bool ok, const caf::error& reason) {
  stop_ok_ = ok;
  if (!ok)
    port_.complain("stop of " + id_.value + " failed (" + explain(reason) + "); it stays tracked");
  // The release must follow the last re-claim's answer, or that claim would write the marker anew (spec R7).
  if (beat_out_)
    enter(sandbox_state::closing, step::settling);
  else
    unmark();
}

void sandbox_machine::unmark() {
  enter(sandbox_state::closing, step::unmarking);
  port_.ask_release_lease(step_no_);
}

void sandbox_machine::closed_now() {
  instance_ = {};
  if (std::exchange(has_slot_, false))
    port_.free_slot();
  port_.tell_departed();
  answer_closers(close_outcome::closed);
  become_absent();
}

// Nothing was torn down. What still runs stays tracked, and its next renewal tells whose it is; what is known to be
// dead, or was never seen, is left to the reconciler.
void sandbox_machine::close_refused(close_outcome outcome) {
  answer_closers(outcome);
  if (reason_ == close_reason::dead || instance_.empty()) {
    if (outcome == close_outcome::failed) {
      // Its remains stand in the way of a new one.
      fail_waiters(make_error(errc::backend_failure, "what is left of sandbox " + id_.value + " cannot be removed"));
    }
    forget(make_error(errc::sandbox_gone, "sandbox " + id_.value));
  } else {
    restore();
  }
}

} // namespace berth
