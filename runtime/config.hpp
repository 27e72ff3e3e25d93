#pragma once
// The configuration of a node: a value with a default for everything, read from YAML.
//
// One table (runtime/config_keys.cpp) holds every key with its range, its default and its sentence; parsing,
// validation, the suggestions for misspelt keys and the printed reference all come from it. Whatever is wrong in a file
// is reported at once, each problem with file, line, column, key, what was found and what would be right.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/options.hpp"
#include "backends/local/local.hpp"
#include "messages/actors.hpp"

namespace berth {

/// `sandbox.ownership`: who owns which sandbox, and for how long without a renewal.
struct ownership_settings {
  std::string type = "memory"; ///< the lease store
  std::chrono::milliseconds renewal_interval{30'000};
  std::int32_t ttl_multiplier = 4; ///< lease time = renewal interval x this
};

/// `sandbox.local`: settings of the local backend.
struct local_settings {
  std::string data_dir; ///< empty = default_data_dir()
  isolation_mode isolation = isolation_mode::automatic;
  network_mode network = network_mode::none;
  std::string bwrap = "bwrap";
  std::string guest; ///< empty = looked up beside the program, then in libexec
  std::vector<std::string> binds;
};

/// `sandbox`: which kind of sandbox, how many, how long.
struct sandbox_settings {
  std::string use = "local"; ///< the backend's kind (runtime/registry.hpp)
  std::int32_t replicas = 3;
  overflow_policy overflow = overflow_policy::wait;
  std::int32_t burst_limit = 0;
  std::chrono::milliseconds acquire_timeout{30'000};
  std::chrono::milliseconds idle_timeout{600'000}; ///< 0 = keep until shutdown
  std::chrono::milliseconds idle_check_interval{60'000};
  std::chrono::milliseconds command_timeout{600'000};
  std::chrono::milliseconds release_grace{2'000};
  std::chrono::milliseconds create_timeout{60'000};
  std::chrono::milliseconds stop_timeout{120'000};
  std::chrono::milliseconds reconcile_interval{60'000};
  std::map<std::string, std::string> environment; ///< resolved; the values may be secrets
  ownership_settings ownership;
  local_settings local;
};

/// `node`: the process itself.
struct node_settings {
  std::string listen = "127.0.0.1:7411"; ///< loopback only; port 0 = chosen by the system
  std::string fleet = "default";
  std::chrono::milliseconds shutdown_timeout{20'000};
};

/// How much is logged.
enum class log_level : std::uint8_t { trace, debug, info, warning, error, off };
std::string to_string(log_level x);

/// One line of text, or one JSON object, per event.
enum class log_format : std::uint8_t { text, json };
std::string to_string(log_format x);

/// `log`: what is written about it all.
struct log_settings {
  log_level level = log_level::info;
  log_format format = log_format::text;
  std::string file; ///< appended to; empty = standard error
};

/// Everything. A default-constructed one is valid and is what an empty file means.
struct config {
  sandbox_settings sandbox;
  node_settings node;
  log_settings log;
};

/// The configuration of a node for which nothing was configured.
config default_config();

/// Reads a YAML file. Errors: config_invalid, its context naming every problem found.
caf::expected<config> load_config(const std::filesystem::path& file);

/// Reads YAML text; `name` stands for the file in error texts. Errors as load_config.
caf::expected<config> parse_config(std::string_view text, std::string_view name);

/// The file named by the environment variable BERTH_CONFIG; nothing where it is unset or empty, and the defaults apply.
std::optional<std::filesystem::path> default_config_path();

/// The reference of all keys for people: key, type, unit, range, default and meaning, grouped by section.
std::string describe_keys();

/// Where sandboxes live unless configured: $XDG_STATE_HOME/berth; else /var/lib/berth for root; else
/// ~/.local/state/berth.
std::filesystem::path default_data_dir();

/// A host and a port.
struct endpoint {
  std::string host; ///< without brackets
  std::uint16_t port = 0;
};

/// Reads `HOST:PORT` or `[HOST]:PORT`. Errors: invalid_argument.
caf::expected<endpoint> parse_endpoint(std::string_view text);

/// Whether only this machine can reach that host: 127.0.0.0/8, ::1 or localhost.
bool is_loopback(std::string_view host);

/// The numbers the actors run on.
lifecycle_options to_lifecycle_options(const config& settings, const node_id& node);

/// The local backend's settings; `base_environment` is what the environment policy lets commands see.
local_options to_local_options(const config& settings, const node_id& node,
                               std::map<std::string, std::string> base_environment);

} // namespace berth
