#pragma once
// The order of parked sandboxes by age: idle expiry and eviction victims.
#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Spawns the pool of one provider. `capacity` is told when a victim turns up after an eviction found none.
warm_pool_actor spawn_warm_pool(caf::actor_system& system, const lifecycle_options& options);

} // namespace berth
