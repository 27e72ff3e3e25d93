#pragma once
// The front of a node: scope to id, id to sandbox actor.
#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Spawns a provider with its warm pool, capacity keeper, heartbeat and reconciler, all of which end with it.
/// It ends after shutdown_provider was answered, or when it is sent an exit.
provider_actor spawn_provider(caf::actor_system& system, lifecycle_options options, store_actor store,
                              backend_actor backend);

} // namespace berth
