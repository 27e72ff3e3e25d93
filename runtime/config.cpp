#include "runtime/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <arpa/inet.h>
#include <pwd.h>
#include <unistd.h>

#include "runtime/config_keys.hpp"
#include "runtime/version.hpp"

namespace berth {

namespace {

constexpr std::size_t reference_width = 100;

// A comment of the reference, broken between words.
void append_comment(std::string& out, const std::string& indent, std::string_view text) {
  std::string line;
  const auto flush = [&] {
    out += indent + "#" + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (!line.empty() && indent.size() + line.size() + end + 2 > reference_width)
      flush();
    line += " " + std::string{text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
}

std::string home_directory() {
  if (const auto* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return home;
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_dir;
  return "/";
}

// A leading `~/` is the operator's home: YAML has no shell that would expand it.
std::filesystem::path expanded(const std::string& path) {
  if (path == "~" || path.starts_with("~/"))
    return std::filesystem::path{home_directory()} / path.substr(std::min<std::size_t>(2, path.size()));
  std::error_code failed;
  auto result = std::filesystem::absolute(path, failed);
  return failed ? std::filesystem::path{path} : result;
}

} // namespace

std::string to_string(log_level x) {
  switch (x) {
  case log_level::trace:
    return "trace";
  case log_level::debug:
    return "debug";
  case log_level::info:
    return "info";
  case log_level::warning:
    return "warning";
  case log_level::error:
    return "error";
  case log_level::off:
    return "off";
  }
  return "?";
}

std::string to_string(log_format x) { return x == log_format::text ? "text" : "json"; }

config default_config() { return {}; }

std::optional<std::filesystem::path> default_config_path() {
  const auto* path = std::getenv("BERTH_CONFIG");
  if (path == nullptr || path[0] == '\0')
    return std::nullopt;
  return std::filesystem::path{path};
}

std::string describe_keys() {
  const auto defaults = default_config();
  std::string out;
  for (const auto& s : detail::sections()) {
    const auto depth = static_cast<std::size_t>(std::count(s.path.begin(), s.path.end(), '.'));
    const std::string indent(depth * 2, ' ');
    append_comment(out, indent, s.doc);
    out += indent + std::string{detail::leaf_of(s.path)} + ":\n";
    for (const auto& k : detail::keys()) {
      if (detail::parent_of(k.path) != s.path)
        continue;
      const auto inner = indent + "  ";
      append_comment(out, inner, std::string{k.doc} + " (" + expectation(k) + ")");
      out += inner + std::string{detail::leaf_of(k.path)} + ": " + shown(k, defaults) + "\n";
    }
  }
  return out;
}

std::filesystem::path default_data_dir() {
  // A relative one is to be ignored (XDG base directory specification).
  if (const auto* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
    return std::filesystem::path{state} / "berth";
  if (geteuid() == 0)
    return "/var/lib/berth";
  return std::filesystem::path{home_directory()} / ".local/state/berth";
}

caf::expected<endpoint> parse_endpoint(std::string_view text) {
  const auto refuse = [&] {
    return make_error(errc::invalid_argument,
                      "'" + std::string{text.substr(0, 60)} + "' is not HOST:PORT with a port between 0 and 65535");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return refuse();
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return refuse(); // which colon ends a bare IPv6 address would be a guess
  endpoint result{std::string{host}, 0};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  if (host.empty() || failed != std::errc{} || end != digits.data() + digits.size())
    return refuse();
  return result;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost")
    return true;
  const std::string text{host};
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

lifecycle_options to_lifecycle_options(const config& settings, const node_id& node) {
  const auto& s = settings.sandbox;
  lifecycle_options result;
  result.node = node;
  result.fleet = settings.node.fleet;
  result.version = version();
  result.replicas = s.replicas;
  result.overflow = s.overflow;
  result.burst_limit = s.burst_limit;
  result.acquire_timeout = s.acquire_timeout;
  result.idle_timeout = s.idle_timeout;
  result.idle_check_interval = s.idle_check_interval;
  result.renewal_interval = s.ownership.renewal_interval;
  result.ttl_multiplier = s.ownership.ttl_multiplier;
  result.reconcile_interval = s.reconcile_interval;
  result.create_bound = s.create_timeout;
  result.stop_bound = s.stop_timeout;
  result.release_grace = s.release_grace;
  result.default_command_timeout = s.command_timeout;
  return result;
}

local_options to_local_options(const config& settings, const node_id& node,
                               std::map<std::string, std::string> base_environment) {
  const auto& s = settings.sandbox.local;
  local_options result;
  result.data_dir = s.data_dir.empty() ? default_data_dir() : expanded(s.data_dir);
  result.fleet = settings.node.fleet;
  result.node = node;
  result.isolation = s.isolation;
  result.network = s.network;
  result.bwrap = s.bwrap;
  result.guest = s.guest.empty() ? std::filesystem::path{} : expanded(s.guest);
  result.base_environment = std::move(base_environment);
  result.environment = settings.sandbox.environment;
  for (const auto& path : s.binds)
    result.extra_binds.emplace_back(path);
  result.default_timeout_ms = settings.sandbox.command_timeout.count();
  return result;
}

} // namespace berth
