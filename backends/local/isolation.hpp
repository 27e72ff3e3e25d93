#pragma once
// What isolates the commands of a local sandbox, and how a supervisor and a shell are started under it.
#include "backends/local/local.hpp"
#include "backends/local/paths.hpp"

namespace berth::local {

/// What was chosen at start.
struct isolation {
  isolation_mode mode = isolation_mode::none; ///< bubblewrap or none, never automatic
  network_mode network = network_mode::none;
  std::string bwrap;        ///< absolute
  std::string guest;        ///< absolute
  std::string shell;        ///< absolute
  std::vector<mount> extra; ///< further host directories, read-only at the same place
  std::string detail;       ///< for people: what was chosen, and why
};

/// Tries what the machine allows and chooses. Blocks for up to twenty seconds. Errors: unsupported (why, and how to get
/// it), config_invalid (a bind that is missing or not allowed, a program that is not the supervisor),
/// command_not_found (no supervisor, no shell).
caf::expected<isolation> choose_isolation(const local_options& options);

/// The command line that starts the supervisor of a sandbox with these mounts.
std::vector<std::string> guest_command(const isolation& x, const std::vector<mount>& mounts);

/// The environment that every command of the sandbox starts from.
std::map<std::string, std::string> command_environment(const isolation& x, const local_options& options,
                                                       const path_map& map);

} // namespace berth::local
