#pragma once
// The renewal clock of a node. It runs whatever the idle time-outs are: liveness and reaping share no switch (spec R2).
#include "actors/options.hpp"
#include "messages/actors.hpp"

namespace berth {

/// Spawns the clock; it reminds every tracked sandbox once per renewal interval.
heartbeat_actor spawn_heartbeat(caf::actor_system& system, const lifecycle_options& options);

} // namespace berth
