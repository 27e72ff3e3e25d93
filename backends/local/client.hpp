#pragma once
// The client_actor of one local sandbox.
#include "backends/local/engine.hpp"
#include "backends/local/mounts.hpp"
#include "messages/actors.hpp"

namespace berth::local {

/// What a client knows of its sandbox. Immutable; shared by all clients of it.
struct sandbox_view {
  std::uint64_t guest = 0;
  std::string instance;
  std::string shell;
  std::string cwd;                        ///< as the command sees it, or on the host without isolation
  std::map<std::string, std::string> env; ///< before a command's own
  bool isolated = false;
  std::chrono::milliseconds default_timeout{0};
  std::shared_ptr<const mount_table> mounts;
};

/// Spawns a client. It ends with its owner's handle or an exit; commands that run then are ended.
client_actor spawn_client(caf::actor_system& system, std::shared_ptr<engine> loop,
                          std::shared_ptr<const sandbox_view> view);

/// Checks an execute request. Errors: invalid_argument that names what is wrong.
caf::error validate(const execute& x);

} // namespace berth::local
