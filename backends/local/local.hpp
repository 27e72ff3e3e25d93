#pragma once
// Sandboxes as directories of this host (spec: contract.md L*, lifecycle.md section 4).
//
// A sandbox is a guest: a small supervisor process (backends/local/guest.cpp) that starts commands on request and is
// the parent, or the reaper, of everything they leave behind. With bubblewrap the guest is process 1 of its own
// namespaces; without, a plain process with path translation. The user's files outlive the sandbox: they belong to the
// thread, not to the container.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "messages/actors.hpp"

namespace berth {

/// What an operator asks for; `automatic` takes bubblewrap where the machine allows it, else refuses to start unless
/// `none` was asked for by name.
enum class isolation_mode : std::uint8_t { automatic, bubblewrap, none };
std::string to_string(isolation_mode x);

/// Network inside an isolated sandbox.
enum class network_mode : std::uint8_t { none, host };
std::string to_string(network_mode x);

/// Settings of the local backend.
struct local_options {
  std::filesystem::path data_dir; ///< holds users/, sandboxes/ and the lock of the node that uses it
  std::string fleet = "default";
  node_id node;
  isolation_mode isolation = isolation_mode::automatic;
  network_mode network = network_mode::none;
  std::filesystem::path bwrap = "bwrap"; ///< looked up on PATH unless absolute
  std::filesystem::path guest;           ///< the supervisor program; empty = beside this program, then libexec
  std::map<std::string, std::string> base_environment; ///< what every command starts from (the policy's result)
  std::map<std::string, std::string> environment;      ///< static additions from the configuration
  std::vector<std::filesystem::path> extra_binds;      ///< further host paths, visible read-only at the same place
  std::int64_t default_timeout_ms = 600'000;
};

/// Probes the machine, takes the lock of the data directory and starts the backend. Errors: already_running (another
/// node uses the directory: says which pid), permission_denied, read_only or no_space (the directory), unsupported
/// (the asked isolation is not possible here: says why and how to get it), config_invalid.
caf::expected<backend_actor> spawn_local_backend(caf::actor_system& system, local_options options);

} // namespace berth
