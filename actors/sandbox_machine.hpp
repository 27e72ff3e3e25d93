#pragma once
// The life of one sandbox, without any I/O: events in, requests out through a port. The actor around it
// (actors/sandbox.cpp) only routes; tests drive the machine by hand.
#include <cstdint>
#include <vector>

#include "actors/lifecycle_table.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Numbers the step that a request belongs to; its reply is dropped when the machine has moved on.
using step_number = std::uint32_t;

/// What the machine asks of the world. Every `ask_*` is answered by exactly one event with the same step number,
/// within a bound.
class sandbox_port {
public:
  sandbox_port() = default;
  sandbox_port(const sandbox_port&) = delete;
  sandbox_port& operator=(const sandbox_port&) = delete;
  virtual ~sandbox_port() = default;

  virtual std::int64_t now_ns() = 0;                           ///< steady clock of the node
  virtual void ask_take(step_number) = 0;                      ///< granted, refused, unanswered
  virtual void ask_claim(step_number, bool for_destroy) = 0;   ///< granted, refused, unanswered
  virtual void ask_release_lease(step_number) = 0;             ///< unmarked
  virtual void ask_renew() = 0;                                ///< on_renewal: renewed, lapsed, lost, ...
  virtual void ask_reclaim() = 0;                              ///< on_renewal: renewed, lost, ...
  virtual void ask_beat() = 0;                                 ///< re-claim for destroy: on_beat_answer
  virtual void schedule_beat() = 0;                            ///< a beat event after one interval
  virtual void ask_find(step_number) = 0;                      ///< found, not_found
  virtual void ask_probe(step_number, const instance_id&) = 0; ///< alive, dead
  virtual void ask_create(step_number, fencing_epoch) = 0;     ///< created, create_failed, _unknown
  virtual void ask_destroy(step_number, const instance_id&, fencing_epoch) = 0; ///< stopped, stop_failed
  virtual void ask_slot(step_number, bool exists) = 0;                          ///< slot, no_slot
  virtual void free_slot() = 0;
  virtual void drain() = 0;        ///< end running commands; on_operations_ended follows as they end
  virtual void close_client() = 0; ///< what still runs through it fails
  virtual void tell_parked(std::int64_t at_ns) = 0;
  virtual void tell_unparked() = 0;
  virtual void tell_departed() = 0;
  virtual void tell_retired() = 0;                                            ///< absent, nobody waits
  virtual void visited(sandbox_state from, event what, sandbox_state to) = 0; ///< for coverage and debug logs
  virtual void complain(const std::string& what) = 0;                         ///< a defect or a danger worth a warning
};

/// The state machine of one sandbox. Owned by its actor; never touched from another thread.
class sandbox_machine {
public:
  sandbox_machine(sandbox_port& port, sandbox_id id) : port_(port), id_(std::move(id)) {}

  // -- what is asked of the sandbox ------------------------------------------------------------------------------------

  void acquire(const scope& owner, answer<acquired> to);
  void release(answer<released> to);
  void close(close_reason reason, answer<close_answer> to);
  void reap(std::int64_t parked_at_ns, close_reason reason, answer<close_answer> to);
  void reap_idle(std::int64_t limit_ns);
  void adopt(const instance& found, answer<adopt_answer> to);
  void renew_tick();

  /// Counts an operation in, if it may run now. The caller forwards it and calls operation_ended() once it is answered.
  caf::error begin_operation();
  void end_operation();

  // -- answers ---------------------------------------------------------------------------------------------------------

  /// granted, refused, unanswered: the answer to ask_take and ask_claim.
  void on_lease(step_number step, event what, const lease_answer& answer = {});
  /// renewed, lapsed, lost, renew_unanswered: the answer to ask_renew and ask_reclaim.
  void on_renewal(event what, const lease_answer& answer = {});
  void on_beat();
  void on_beat_answer(event what); ///< granted, refused, unanswered
  void on_found(step_number step, const instance& found);
  void on_created(step_number step, const instance& made);
  /// Every other answer; `reason` goes to the callers where it ends their request.
  void on_answer(step_number step, event what, const caf::error& reason = {});

  /// The actor ends: everybody who still waits gets `reason`.
  void abandon(const caf::error& reason);

  // -- observers -------------------------------------------------------------------------------------------------------

  [[nodiscard]] sandbox_state state() const { return state_; }
  [[nodiscard]] sandbox_status status();
  [[nodiscard]] const sandbox_id& id() const { return id_; }
  [[nodiscard]] const instance_id& current_instance() const { return instance_; }
  [[nodiscard]] step_number current_step() const { return step_no_; }
  [[nodiscard]] std::size_t defects() const { return defects_; }
  [[nodiscard]] bool holds_slot() const { return has_slot_; }

private:
  /// Where in opening, parking or closing the machine is: which answer it waits for.
  enum class step : std::uint8_t {
    none,
    taking,       // opening: ownership before anything slow
    probing,      // opening: does the instance we know still run?
    finding,      // opening: does an untracked one run?
    accounting,   // opening: count one that exists
    reserving,    // opening: a slot before a create
    creating,     // opening
    adopting,     // opening: claim an orphan
    unpublishing, // opening failed: give the lease back before anybody tries again
    draining,     // parking: operations end
    renewing,     // parking: is it still ours?
    marking,      // closing: claim for destroy
    stopping,     // closing: the stop is out, the marker is held
    settling,     // closing: the stop was answered, a re-claim is still out
    unmarking     // closing: release the marker
  };

  const transition& arrive(event what);
  void left(sandbox_state from, event what, state_set allowed);
  bool is_current(step_number step, event what) const;
  void enter(sandbox_state state, step next);

  void begin_opening();
  void take();
  void opened(acquire_origin origin);
  void open_failed(const caf::error& reason, bool published);
  void begin_parking();
  void start_renewing();
  void parked_now();
  void begin_closing(close_reason reason);
  void begin_close_in_line();
  void stop_answered(bool ok, const caf::error& reason);
  void unmark();
  void closed_now();
  void close_refused(close_outcome outcome);
  void restore();
  void forget(const caf::error& reason);
  void become_absent();
  void serve_line();
  void fail_waiters(const caf::error& reason);
  void answer_closers(close_outcome outcome);
  void answer_adopter(bool adopted);
  void advance_lease(event what, const lease_answer& answer);
  void advance_opening(event what, const caf::error& reason);

  sandbox_port& port_;
  sandbox_id id_;
  scope scope_;
  instance_id instance_;
  fencing_epoch epoch_;
  std::int64_t parked_at_ns_ = 0;
  std::int64_t last_activity_ns_ = 0;
  std::int64_t entered_ns_ = 0;
  std::vector<answer<acquired>> waiters_;
  std::vector<answer<released>> releasers_;
  std::vector<answer<close_answer>> closers_;
  answer<adopt_answer> adopter_;
  std::uint64_t publishes_ = 0;    // takes and claims sent
  std::uint64_t renewal_mark_ = 0; // publishes_ when the renewal that is out was sent
  step_number step_no_ = 0;
  std::int32_t operations_ = 0;
  std::int32_t interrupted_ = 0;
  std::uint32_t defects_ = 0;
  sandbox_state state_ = sandbox_state::absent;
  sandbox_state resume_ = sandbox_state::absent; // where a failed opening or closing goes back to
  step step_ = step::none;
  close_reason reason_ = close_reason::requested;
  acquire_origin origin_ = acquire_origin::created;
  bool has_slot_ = false;
  bool published_ = false;  // opening: the take was granted
  bool adopt_only_ = false; // opening on behalf of the reconciler
  bool retake_ = false;     // opening: a peer took it meanwhile
  bool renewal_out_ = false;
  bool beat_out_ = false;
  bool beating_ = false;
  bool stop_ok_ = false;
  bool close_waits_ = false; // a close stands in line
};

} // namespace berth
