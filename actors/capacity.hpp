#pragma once
// The slots of one provider: reserve before a create, count what exists, free; a line for those who wait.
#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Spawns the capacity keeper. It asks `pool` for room when the slots are used up.
capacity_actor spawn_capacity(caf::actor_system& system, const lifecycle_options& options, const warm_pool_actor& pool);

} // namespace berth
