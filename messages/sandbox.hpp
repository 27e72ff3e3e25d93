#pragma once
// The life of a sandbox as the outside sees it: acquire, release, destroy, status; and what the actors of a node tell
// each other about it.
#include <cstdint>
#include <string>
#include <vector>

#include "messages/backend.hpp"
#include "messages/ids.hpp"
#include "messages/lease.hpp"

namespace berth {

/// The states of a sandbox actor (DESIGN: the sandbox state machine).
enum class sandbox_state : std::uint8_t { absent, opening, active, parking, warm, closing };
inline constexpr std::size_t sandbox_state_count = 6;
std::string to_string(sandbox_state x);

/// How an acquire was served.
enum class acquire_origin : std::uint8_t {
  created,   ///< a cold start
  reused,    ///< it was active already
  reclaimed, ///< it was parked on this node
  discovered ///< it ran at the backend, untracked here
};
std::string to_string(acquire_origin x);

/// Asks for the sandbox of a scope.
struct acquire_sandbox {
  scope owner_scope;
};
BERTH_MESSAGE(acquire_sandbox, owner_scope)

/// The answer to acquire_sandbox: active now, its lease published.
struct acquired {
  sandbox_id id;
  scope owner_scope;
  acquire_origin origin = acquire_origin::created;
  instance_id instance;
  fencing_epoch epoch;
};
BERTH_MESSAGE(acquired, id, owner_scope, origin, instance, epoch)

/// Gives a sandbox back: it is parked, warm, for the next acquire of its scope. Unknown ids are a no-op.
struct release_sandbox {
  sandbox_id id;
};
BERTH_MESSAGE(release_sandbox, id)

/// The answer to release_sandbox.
struct released {
  sandbox_id id;
  sandbox_state state = sandbox_state::absent; ///< warm; absent when it was unknown or a peer owns it now
  std::int32_t interrupted = 0;                ///< operations that still ran and were ended
};
BERTH_MESSAGE(released, id, state, interrupted)

/// Why a sandbox is torn down.
enum class close_reason : std::uint8_t { requested, idle, evicted, dead, shutdown, abandoned };
std::string to_string(close_reason x);

/// Tears a sandbox down, active or parked. Refused when a peer answers for it; nothing is touched then.
struct close_sandbox {
  sandbox_id id;
  close_reason reason = close_reason::requested;
};
BERTH_MESSAGE(close_sandbox, id, reason)

/// What became of a request to close or reap.
enum class close_outcome : std::uint8_t {
  closed,    ///< stopped, untracked, slot free
  refused,   ///< not reapable any more, or a peer's, or the store cannot answer: nothing was touched
  failed,    ///< the stop failed or timed out: still tracked
  unknown_id ///< nothing tracked under this id
};
std::string to_string(close_outcome x);

/// The answer to close_sandbox and reap.
struct close_answer {
  sandbox_id id;
  close_outcome outcome = close_outcome::refused;
};
BERTH_MESSAGE(close_answer, id, outcome)

/// Asks for the handle of an active or parked sandbox: a look-up in memory, never a round trip.
struct get_sandbox {
  sandbox_id id;
};
BERTH_MESSAGE(get_sandbox, id)

/// One sandbox, as its actor knows it now.
struct sandbox_status {
  sandbox_id id;
  scope owner_scope;
  sandbox_state state = sandbox_state::absent;
  instance_id instance;
  fencing_epoch epoch;
  std::int32_t operations = 0; ///< in flight
  std::int32_t waiting = 0;    ///< acquires in line
  std::int64_t idle_ms = 0;    ///< since the last operation, acquire or release
  std::int64_t state_age_ms = 0;
};
BERTH_MESSAGE(sandbox_status, id, owner_scope, state, instance, epoch, operations, waiting, idle_ms, state_age_ms)

/// Asks a sandbox for its status; answered at once in any state.
struct query_status {};
BERTH_EMPTY_MESSAGE(query_status)

/// Lists the sandboxes a node tracks.
struct list_tracked {};
BERTH_EMPTY_MESSAGE(list_tracked)

/// The answer to list_tracked, sorted by scope.
struct tracked_list {
  std::vector<sandbox_status> sandboxes;
};
BERTH_MESSAGE(tracked_list, sandboxes)

/// Asks a node how it is.
struct query_node {};
BERTH_EMPTY_MESSAGE(query_node)

/// A node at a glance.
struct node_status {
  node_id node;
  std::string version;
  std::string provider;
  backend_info backend;
  store_info store;
  std::int32_t tracked = 0; ///< sandbox actors, in any state
  std::int32_t parked = 0;
  std::int32_t slots_used = 0;
  std::int32_t slots = 0;   ///< the limit, `replicas`
  std::int32_t waiting = 0; ///< acquires that wait for a slot
  std::int64_t uptime_ms = 0;
};
BERTH_MESSAGE(node_status, node, version, provider, backend, store, tracked, parked, slots_used, slots, waiting,
              uptime_ms)

/// Destroys all that this node owns and starts afresh; the provider stays usable.
struct reset_provider {};
BERTH_EMPTY_MESSAGE(reset_provider)

/// Destroys what this node owns and refuses what comes after. Answered within `bound_ms`.
struct shutdown_provider {
  std::int64_t bound_ms = 0;
};
BERTH_MESSAGE(shutdown_provider, bound_ms)

/// The answer to reset_provider and shutdown_provider.
struct shutdown_report {
  std::int32_t closed = 0;
  std::vector<sandbox_id> left; ///< a peer's, or the stop failed or did not end in time
};
BERTH_MESSAGE(shutdown_report, closed, left)

// -- between the actors of one node ------------------------------------------------------------------------------------

/// Warm pool to sandbox: close, if you are still parked since that very moment and nothing runs in you.
struct reap {
  std::int64_t parked_at_ns = 0; ///< the node's steady clock
  close_reason reason = close_reason::idle;
};
BERTH_MESSAGE(reap, parked_at_ns, reason)

/// Warm pool to sandbox: close, if you are active and nothing was asked of you for that long.
struct reap_idle {
  std::int64_t idle_limit_ms = 0;
};
BERTH_MESSAGE(reap_idle, idle_limit_ms)

/// Reconciler to sandbox, through the provider: this instance seems to be nobody's; claim and keep it, parked.
struct adopt_sandbox {
  instance found;
};
BERTH_MESSAGE(adopt_sandbox, found)

/// The answer to adopt_sandbox.
struct adopt_answer {
  sandbox_id id;
  bool adopted = false;
};
BERTH_MESSAGE(adopt_answer, id, adopted)

/// Reconciler to provider: which of these do you not track?
struct filter_untracked {
  std::vector<sandbox_id> ids;
};
BERTH_MESSAGE(filter_untracked, ids)

/// The answer to filter_untracked.
struct untracked {
  std::vector<sandbox_id> ids;
};
BERTH_MESSAGE(untracked, ids)

/// Heartbeat to sandbox: a renewal interval has passed.
struct renew_tick {};
BERTH_EMPTY_MESSAGE(renew_tick)

/// Provider to sandbox: the actor may end, if nothing reached it since (`acquires` = acquires forwarded so far).
struct retire {
  std::uint64_t acquires = 0;
};
BERTH_MESSAGE(retire, acquires)

/// Sandbox to provider: absent, with nobody waiting, after so many forwarded requests.
struct retired {
  sandbox_id id;
  std::uint64_t seen = 0;
};
BERTH_MESSAGE(retired, id, seen)

} // namespace berth
