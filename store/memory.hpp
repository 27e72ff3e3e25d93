#pragma once
// The lease store of a single node: the whole truth table (spec: ownership.md section 2), in this process only.
#include <chrono>
#include <cstdint>

#include "messages/actors.hpp"

namespace berth {

/// Spawns a store that peers cannot see (`supports_cross_process` = false). Leases expire after `lease_time` of the
/// actor system's clock. Epochs grow from `first_epoch`; give one beyond those of former runs (Unix milliseconds do)
/// where sandboxes outlive the process.
store_actor spawn_memory_store(caf::actor_system& system, std::chrono::milliseconds lease_time,
                               std::uint64_t first_epoch = 1);

} // namespace berth
