#pragma once
// The actor of one sandbox on this node: routes messages into the state machine and its requests out to the store, the
// backend, the pool and the capacity keeper.
#include <memory>

#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Whom a sandbox talks to; one record shared by all sandboxes of a provider.
struct sandbox_peers {
  lifecycle_options options;
  store_actor store;
  backend_actor backend;
  capacity_actor capacity;
  warm_pool_actor pool;
  bool log_transitions =
      false; ///< debug lines, decided once: asking the logger at every event costs more than the event
};

/// Spawns the actor of `id`. It tells `provider` when it is absent and unused (retired), and ends on `retire`.
sandbox_actor spawn_sandbox(caf::actor_system& system, std::shared_ptr<const sandbox_peers> peers,
                            const provider_actor& provider, sandbox_id id);

} // namespace berth
