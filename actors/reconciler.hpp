#pragma once
// Periodic inventory: what runs at the backend and is nobody's. It proposes; the sandbox actor claims.
#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Spawns the reconciler of `provider`. First pass at once, then every reconcile interval.
reconciler_actor spawn_reconciler(caf::actor_system& system, const lifecycle_options& options,
                                  const provider_actor& provider, const store_actor& store,
                                  const backend_actor& backend);

} // namespace berth
