#pragma once
// Slots and the warm pool: how sandboxes, the pool and the capacity keeper of a node talk.
#include <cstdint>
#include <string>

#include "messages/ids.hpp"
#include "messages/sandbox.hpp"

namespace berth {

/// What happens to an acquire that finds no slot and nothing parked to evict.
enum class overflow_policy : std::uint8_t {
  wait,   ///< stands in line, until `acquire_timeout`
  reject, ///< fails at once
  burst,  ///< may exceed `replicas` by `burst_limit`, then fails
  soft    ///< a warning, and is served all the same
};
std::string to_string(overflow_policy x);

/// Sandbox to capacity: a slot, please, before I create. Answered when there is one; a waiter may stand in line.
struct reserve_slot {
  sandbox_id id;
};
BERTH_MESSAGE(reserve_slot, id)

/// Sandbox to capacity: this one exists already (discovered or adopted); count it, even above the limit.
struct account_slot {
  sandbox_id id;
};
BERTH_MESSAGE(account_slot, id)

/// The answer to reserve_slot and account_slot.
struct slot_answer {
  std::int32_t used = 0;
  std::int32_t limit = 0;
};
BERTH_MESSAGE(slot_answer, used, limit)

/// Sandbox to capacity: my slot is free, or I no longer wait for one.
struct free_slot {
  sandbox_id id;
};
BERTH_MESSAGE(free_slot, id)

/// Asks how many slots there are.
struct query_capacity {};
BERTH_EMPTY_MESSAGE(query_capacity)

/// The answer to query_capacity.
struct capacity_status {
  std::int32_t used = 0;
  std::int32_t limit = 0;
  std::int32_t waiting = 0;
};
BERTH_MESSAGE(capacity_status, used, limit, waiting)

/// Sandbox to pool: parked at that moment of the steady clock.
struct parked {
  sandbox_id id;
  std::int64_t parked_at_ns = 0;
};
BERTH_MESSAGE(parked, id, parked_at_ns)

/// Sandbox to pool: active now.
struct unparked {
  sandbox_id id;
};
BERTH_MESSAGE(unparked, id)

/// Sandbox to pool: closed or forgotten.
struct departed {
  sandbox_id id;
};
BERTH_MESSAGE(departed, id)

/// Capacity to pool: make room by one, oldest first. Answered when the victim is stopped and its slot free.
struct evict_one {};
BERTH_EMPTY_MESSAGE(evict_one)

/// The answer to evict_one.
struct evicted {
  bool any = false; ///< false: nothing parked could be evicted
  sandbox_id id;
};
BERTH_MESSAGE(evicted, any, id)

/// Pool to capacity: something was parked since the last eviction that found nothing.
struct victim_available {};
BERTH_EMPTY_MESSAGE(victim_available)

/// Asks how many sandboxes are parked.
struct query_pool {};
BERTH_EMPTY_MESSAGE(query_pool)

/// The answer to query_pool.
struct pool_status {
  std::int32_t active = 0;
  std::int32_t parked = 0;
};
BERTH_MESSAGE(pool_status, active, parked)

/// A clock's own reminder (idle check, renewal, reconciliation); `generation` drops those of a former schedule.
struct tick {
  std::uint64_t generation = 0;
};
BERTH_MESSAGE(tick, generation)

/// Provider to heartbeat: renew this one from now on / no longer.
struct track {
  sandbox_id id;
};
BERTH_MESSAGE(track, id)
struct untrack {
  sandbox_id id;
};
BERTH_MESSAGE(untrack, id)

/// Asks the reconciler for a pass now.
struct reconcile_now {};
BERTH_EMPTY_MESSAGE(reconcile_now)

/// The answer to reconcile_now: what the pass saw and did.
struct reconcile_report {
  bool complete = false;
  std::int32_t listed = 0;
  std::int32_t untracked = 0;
  std::int32_t in_grace = 0;
  std::int32_t proposed = 0;
  std::int32_t adopted = 0;
  std::int32_t foreign = 0; ///< another fleet's; never touched
};
BERTH_MESSAGE(reconcile_report, complete, listed, untracked, in_grace, proposed, adopted, foreign)

} // namespace berth
