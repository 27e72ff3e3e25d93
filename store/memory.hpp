#pragma once
// The lease store of a single node: the whole truth table (spec: ownership.md section 2), in this process only.
#include <chrono>

#include "messages/actors.hpp"

namespace berth {

/// Spawns a store that peers cannot see (`supports_cross_process` = false). Leases expire after `lease_time`.
store_actor spawn_memory_store(caf::actor_system& system, std::chrono::milliseconds lease_time);

} // namespace berth
