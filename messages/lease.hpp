#pragma once
// The lease: who reaps a sandbox (not who may use it). Requests to the lease store and its answers.
#include <cstdint>
#include <string>

#include "messages/ids.hpp"

namespace berth {

/// What stands in the store for one sandbox id: nothing, `own:OWNER`, or `del:OWNER`.
enum class lease_state : std::uint8_t {
  absent,    ///< nobody answers for it
  owned,     ///< the owner keeps and reaps it
  destroying ///< the owner is tearing it down; nobody may take it meanwhile
};

/// What a store answers. Which of them can come follows from the request (spec: ownership.md, the truth table).
enum class lease_outcome : std::uint8_t {
  granted,  ///< take, claim: it is ours now, for one lease time
  refused,  ///< take, claim: a teardown or a peer stands in the way; nothing changed
  renewed,  ///< renew: still ours, the lease time starts anew
  lapsed,   ///< renew: absent; nobody took it, so the owner may claim it again
  lost,     ///< renew: a peer's, or marked for teardown; never take it back
  released, ///< release: ours, and gone now
  unchanged ///< release: not ours; a peer's lease is never cleared
};

std::string to_string(lease_state x);
std::string to_string(lease_outcome x);

/// Transfers ownership to `owner` whoever holds it, unless a teardown is marked. The acquire path.
struct take_lease {
  sandbox_id id;
  node_id owner;
};
BERTH_MESSAGE(take_lease, id, owner)

/// Becomes owner only of what is unowned or already ours; with `for_destroy` marks the teardown. Gates adopt and reap.
struct claim_lease {
  sandbox_id id;
  node_id owner;
  bool for_destroy = false;
};
BERTH_MESSAGE(claim_lease, id, owner, for_destroy)

/// Extends a lease that is ours; never takes one back.
struct renew_lease {
  sandbox_id id;
  node_id owner;
};
BERTH_MESSAGE(renew_lease, id, owner)

/// Clears a lease or a teardown marker that is ours.
struct release_lease {
  sandbox_id id;
  node_id owner;
};
BERTH_MESSAGE(release_lease, id, owner)

/// Reads who holds the lease; changes nothing and justifies no destroy.
struct query_lease {
  sandbox_id id;
};
BERTH_MESSAGE(query_lease, id)

/// The answer to every lease request: outcome, and the lease as it stands after it.
struct lease_answer {
  lease_outcome outcome = lease_outcome::refused;
  lease_state state = lease_state::absent;
  node_id owner; ///< empty when absent
  fencing_epoch epoch;
};
BERTH_MESSAGE(lease_answer, outcome, state, owner, epoch)

/// The answer to query_lease.
struct lease_view {
  lease_state state = lease_state::absent;
  node_id owner; ///< empty when absent; the raw text where a value is no lease
  fencing_epoch epoch;
};
BERTH_MESSAGE(lease_view, state, owner, epoch)

/// Asks a store what it is.
struct store_query {};
BERTH_EMPTY_MESSAGE(store_query)

/// What a store is: its name, whether peers see its leases, and the lease time.
struct store_info {
  std::string name;
  bool supports_cross_process = false;
  std::int64_t lease_time_ms = 0;
};
BERTH_MESSAGE(store_info, name, supports_cross_process, lease_time_ms)

} // namespace berth
