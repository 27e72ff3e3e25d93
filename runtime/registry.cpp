#include "runtime/registry.hpp"

#include <array>

#include "runtime/config_keys.hpp"
#include "runtime/env_policy.hpp"

namespace berth {

namespace {

using spawn_function = caf::expected<backend_actor> (*)(caf::actor_system&, const config&, const node_id&);

struct backend_kind {
  std::string_view name;
  spawn_function spawn;
};

caf::expected<backend_actor> spawn_local(caf::actor_system& system, const config& settings, const node_id& node) {
  return spawn_local_backend(system, to_local_options(settings, node, command_environment()));
}

// One line per backend.
constexpr std::array kinds{
    backend_kind{"local", spawn_local},
};

} // namespace

std::vector<std::string> backend_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kinds)
    names.emplace_back(kind.name);
  return names;
}

caf::expected<backend_actor> spawn_backend(caf::actor_system& system, const config& settings, const node_id& node) {
  for (const auto& kind : kinds)
    if (kind.name == settings.sandbox.use)
      return kind.spawn(system, settings, node);
  // Only a configuration that was filled in by hand gets here; a parsed one was refused before.
  return make_error(errc::config_invalid, "sandbox.use: unknown backend '" + settings.sandbox.use
                                              + "'; known: " + detail::listed(backend_kinds()));
}

} // namespace berth
