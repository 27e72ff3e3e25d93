#pragma once
// The state machine of a sandbox as data: what every event does in every state, and where it may lead. The machine
// (actors/sandbox_machine.cpp) looks each event up here; tests/actors walks every cell.
#include <array>
#include <cstdint>
#include <string>

#include "messages/sandbox.hpp"

namespace berth {

/// What can happen to a sandbox: what is asked of it, and the answers it waits for.
enum class event : std::uint8_t {
  acquire,          ///< somebody wants it active
  release,          ///< its user gives it back
  close,            ///< tear it down
  reap,             ///< the warm pool: close if parked since that moment
  reap_idle,        ///< the warm pool: close if active and idle for so long
  adopt,            ///< the reconciler: this instance seems to be nobody's
  renew_tick,       ///< a renewal interval has passed
  operate,          ///< a command or file operation
  granted,          ///< take or claim: yes
  refused,          ///< take or claim: no
  unanswered,       ///< take or claim: the store cannot answer
  renewed,          ///< renew, or the claim after `lapsed`: ours
  lapsed,           ///< renew: absent
  lost,             ///< renew, or the claim after `lapsed`: a peer's
  renew_unanswered, ///< renew, or the claim after `lapsed`: the store cannot answer
  found,            ///< discovery: one runs
  not_found,        ///< discovery: none runs, or it cannot be verified
  alive,            ///< probe: alive, or nobody can tell (unknown is not dead)
  dead,             ///< probe: definitely gone
  slot,             ///< capacity: granted
  no_slot,          ///< capacity: refused
  created,          ///< the backend made it
  create_failed,    ///< the backend says it did not
  create_unknown,   ///< no answer in time: it may exist
  drained,          ///< the operations in flight have ended
  stopped,          ///< the backend stopped and removed it
  stop_failed,      ///< the stop failed or was not answered in time: it may run
  unmarked,         ///< the lease was released, or could not be (its time will clear it)
  beat,             ///< teardown: time to claim again
  beat_answered     ///< teardown: the last re-claim was answered
};
inline constexpr std::size_t event_count = 30;
std::string to_string(event x);

/// What the machine does. Several cells share one.
enum class action : std::uint8_t {
  ignore,        ///< nothing to do, by design
  defect,        ///< cannot come here: answers of a left state are dropped by their step number before the table
  refuse,        ///< answered "no" at once
  open,          ///< publish ownership, then look, then create
  wait_in_line,  ///< answered when the state is left
  park,          ///< end what runs, renew, then warm
  answer_now,    ///< answered with the state as it is
  close,         ///< claim for destroy, stop, release
  close_if_same, ///< the same, if still parked since that moment
  close_if_idle, ///< the same, if idle for so long
  adopt,         ///< claim, count, then warm
  renew,         ///< ask the store to extend the lease
  run,           ///< forward to the client
  advance,       ///< the answer that the current step waits for
  keep,          ///< renewed or unknown: go on
  claim_again,   ///< lapsed: nobody took it, so claim it
  forget,        ///< a peer's: untrack, do not touch the instance
  take_again,    ///< a peer took it while we open: the pending open takes it back before it hands out
  beat           ///< re-claim the teardown marker
};
std::string to_string(action x);

/// A set of states, one bit each.
using state_set = std::uint8_t;

constexpr state_set bit(sandbox_state x) { return static_cast<state_set>(1U << static_cast<unsigned>(x)); }

/// One cell of the table.
struct transition {
  action what = action::defect;
  state_set next = 0; ///< the states it may lead to
};

/// The cell for an event in a state.
const transition& lookup(sandbox_state state, event what);

} // namespace berth
