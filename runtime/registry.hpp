#pragma once
// The kinds of sandbox this build knows. A new backend is a folder below backends/ and one line in registry.cpp.
#include <string>
#include <string_view>
#include <vector>

#include "messages/actors.hpp"
#include "runtime/config.hpp"

namespace berth {

/// The names that `sandbox.use` accepts, in the order of their registration.
std::vector<std::string> backend_kinds();

/// Spawns the backend that `settings.sandbox.use` names. Errors: config_invalid (unknown kind; lists the known ones),
/// and whatever the backend's own start may fail with.
caf::expected<backend_actor> spawn_backend(caf::actor_system& system, const config& settings, const node_id& node);

} // namespace berth
