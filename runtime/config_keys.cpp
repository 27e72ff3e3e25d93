#include "runtime/config_keys.hpp"

#include <algorithm>

#include "runtime/registry.hpp"

namespace berth::detail {

namespace {

constexpr std::int64_t second = 1000;
constexpr std::int64_t year = 31'536'000 * second;
constexpr std::int64_t day = 86'400 * second;
constexpr std::int64_t hour = 3'600 * second;

// A choice among the values of an enumeration: `names` in the order of `values`.
template <class Enum>
choice_key choose(std::vector<std::string> names, std::vector<Enum> values, Enum& (*at)(config&)) {
  return {std::move(names), [values, at](config& c, std::size_t i) { at(c) = values[i]; },
          [values, at](const config& c) {
            auto copy = c;
            const auto found = std::find(values.begin(), values.end(), at(copy));
            return static_cast<std::size_t>(found - values.begin());
          }};
}

// A choice that is kept as its word.
choice_key word(std::vector<std::string> names, std::string& (*at)(config&)) {
  return {names, [names, at](config& c, std::size_t i) { at(c) = names[i]; },
          [names, at](const config& c) {
            auto copy = c;
            const auto found = std::find(names.begin(), names.end(), at(copy));
            return static_cast<std::size_t>(found - names.begin());
          }};
}

choice_key backend_choice() {
  auto result = word(backend_kinds(), [](config& c) -> std::string& { return c.sandbox.use; });
  result.noun = "backend";
  return result;
}

choice_key store_choice() {
  auto result = word({"memory"}, [](config& c) -> std::string& { return c.sandbox.ownership.type; });
  result.noun = "lease store";
  result.unavailable = {{"redis", "is not part of this version yet; use 'memory', on one node per backend"}};
  return result;
}

std::string path_text(const std::string& x) {
  return x.find('\0') == std::string::npos ? std::string{} : "a path without a zero byte";
}

std::string needed_path(const std::string& x) { return x.empty() ? "the name or path of a program" : path_text(x); }

std::string absolute_path(const std::string& x) {
  return x.starts_with('/') ? path_text(x) : "an absolute path, which begins with '/'";
}

std::string fleet_name(const std::string& x) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_'
           || c == '-';
  };
  const auto good = !x.empty() && x.size() <= 63 && std::all_of(x.begin(), x.end(), fits) && x[0] != '.' && x[0] != '-';
  return good ? std::string{}
              : "a name of 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter, digit or '_'";
}

std::string loopback_endpoint(const std::string& x) {
  const auto parsed = parse_endpoint(x);
  if (!parsed)
    return "HOST:PORT with a port between 0 and 65535, such as 127.0.0.1:7411";
  return is_loopback(parsed->host)
             ? std::string{}
             : "a loopback address: the protocol between nodes has no authentication, so only 127.0.0.0/8, [::1] and "
               "localhost are served";
}

#define BERTH_AT(type, member) [](config& c) -> type& { return c.member; }
#define BERTH_SECONDS(member, least, most)                                                                             \
  seconds_key { BERTH_AT(std::chrono::milliseconds, member), least, most }
#define BERTH_COUNT(member, least, most)                                                                               \
  count_key { BERTH_AT(std::int32_t, member), least, most }
#define BERTH_TEXT(member, wrong)                                                                                      \
  text_key { BERTH_AT(std::string, member), wrong }

std::vector<key> make_keys() {
  return {
      {"sandbox.use", "The kind of sandbox.", backend_choice()},
      {"sandbox.replicas", "Sandboxes this node may have, active and parked together.",
       BERTH_COUNT(sandbox.replicas, 1, 100'000)},
      {"sandbox.overflow_policy",
       "What an acquire does that finds no slot and nothing parked to evict: stand in line, fail at once, exceed the "
       "limit by burst_limit, or exceed it with a warning.",
       choose<overflow_policy>(
           {"wait", "reject", "burst", "soft"},
           {overflow_policy::wait, overflow_policy::reject, overflow_policy::burst, overflow_policy::soft},
           BERTH_AT(overflow_policy, sandbox.overflow))},
      {"sandbox.burst_limit", "Slots beyond replicas where overflow_policy is burst.",
       BERTH_COUNT(sandbox.burst_limit, 0, 100'000)},
      {"sandbox.acquire_timeout", "How long an acquire waits for a slot.",
       BERTH_SECONDS(sandbox.acquire_timeout, 0, day)},
      {"sandbox.idle_timeout", "A sandbox unused for that long is destroyed; 0 keeps it until the node stops.",
       BERTH_SECONDS(sandbox.idle_timeout, 0, year)},
      {"sandbox.idle_check_interval", "How often is looked for idle sandboxes.",
       BERTH_SECONDS(sandbox.idle_check_interval, 1, day)},
      {"sandbox.command_timeout", "How long a command may run that brings no limit of its own.",
       BERTH_SECONDS(sandbox.command_timeout, 1, year)},
      {"sandbox.release_grace", "How long running commands may take to end when their sandbox is released.",
       BERTH_SECONDS(sandbox.release_grace, 0, hour)},
      {"sandbox.create_timeout", "The bound of creating a sandbox, until it is ready.",
       BERTH_SECONDS(sandbox.create_timeout, 1, hour)},
      {"sandbox.stop_timeout", "The bound of stopping and removing a sandbox.",
       BERTH_SECONDS(sandbox.stop_timeout, 1, hour)},
      {"sandbox.reconcile_interval", "How often the backend is asked for sandboxes that nobody tracks.",
       BERTH_SECONDS(sandbox.reconcile_interval, 1, day)},
      {"sandbox.environment",
       "Variables for every command, NAME: value. A value $NAME is taken from the environment of the node when the "
       "configuration is read.",
       variables_key{BERTH_AT(decltype(sandbox_settings::environment), sandbox.environment)}},
      {"sandbox.ownership.type", "Where leases are kept. memory serves a single node.", store_choice()},
      {"sandbox.ownership.renewal_interval", "How often a lease is renewed.",
       BERTH_SECONDS(sandbox.ownership.renewal_interval, 1, day)},
      {"sandbox.ownership.ttl_multiplier", "A lease lives for the renewal interval times this.",
       BERTH_COUNT(sandbox.ownership.ttl_multiplier, 2, 1000)},
      {"sandbox.local.data_dir",
       "Where sandboxes and the files of their users live. Empty: $XDG_STATE_HOME/berth, else /var/lib/berth for root, "
       "else ~/.local/state/berth.",
       BERTH_TEXT(sandbox.local.data_dir, path_text)},
      {"sandbox.local.isolation",
       "auto takes bubblewrap where the machine allows it and refuses to start elsewhere; none runs commands as plain "
       "processes.",
       choose<isolation_mode>({"auto", "bubblewrap", "none"},
                              {isolation_mode::automatic, isolation_mode::bubblewrap, isolation_mode::none},
                              BERTH_AT(isolation_mode, sandbox.local.isolation))},
      {"sandbox.local.network", "The network inside an isolated sandbox.",
       choose<network_mode>({"none", "host"}, {network_mode::none, network_mode::host},
                            BERTH_AT(network_mode, sandbox.local.network))},
      {"sandbox.local.bwrap", "The bubblewrap program, looked up on PATH unless absolute.",
       BERTH_TEXT(sandbox.local.bwrap, needed_path)},
      {"sandbox.local.guest",
       "The program that supervises a sandbox from inside. Empty: beside the running program, then where berth was "
       "installed.",
       BERTH_TEXT(sandbox.local.guest, path_text)},
      {"sandbox.local.binds", "Further paths of the host that are visible, read-only, at the same place.",
       text_list_key{BERTH_AT(std::vector<std::string>, sandbox.local.binds), absolute_path}},
      {"node.listen",
       "Where the node serves other processes of this machine. Loopback only, since the protocol has no "
       "authentication; port 0 takes a free one.",
       BERTH_TEXT(node.listen, loopback_endpoint)},
      {"node.fleet", "The fleet's name. Sandboxes of other fleets are never touched.",
       BERTH_TEXT(node.fleet, fleet_name)},
      {"node.shutdown_timeout", "The bound of an orderly stop; a second signal ends the process at once.",
       BERTH_SECONDS(node.shutdown_timeout, 1, hour)},
      {"log.level", "From which level on events are written.",
       choose<log_level>(
           {"trace", "debug", "info", "warning", "error", "off"},
           {log_level::trace, log_level::debug, log_level::info, log_level::warning, log_level::error, log_level::off},
           BERTH_AT(log_level, log.level))},
      {"log.format", "A line of text or a JSON object per event.",
       choose<log_format>({"text", "json"}, {log_format::text, log_format::json}, BERTH_AT(log_format, log.format))},
      {"log.file", "The file that events are appended to. Empty: standard error.", BERTH_TEXT(log.file, path_text)},
  };
}

// Optimal string alignment: insertions, deletions, substitutions and swapped neighbours, case aside.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const auto same = low(a[i - 1]) == low(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && low(a[i - 1]) == low(b[j - 2]) && low(a[i - 2]) == low(b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// As a YAML scalar that reads back as the same text.
std::string yaml_text(const std::string& x) {
  std::string result = "\"";
  for (const char c : x) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace

const std::vector<section>& sections() {
  static const std::vector<section> all{
      {"sandbox", "Which sandboxes, how many, and how long they live."},
      {"sandbox.ownership", "Who owns a sandbox, so that no two nodes fight over one."},
      {"sandbox.local", "Sandboxes as directories of this host (use: local)."},
      {"node", "The node itself."},
      {"log", "What is written about it all."},
  };
  return all;
}

const std::vector<key>& keys() {
  static const std::vector<key> all = make_keys();
  return all;
}

std::string expectation(const key& k) {
  return std::visit(overloaded{
                        [](const seconds_key& x) {
                          return "a number of seconds between " + seconds_text(x.least_ms) + " and "
                                 + seconds_text(x.most_ms);
                        },
                        [](const count_key& x) {
                          return "an integer between " + std::to_string(x.least) + " and " + std::to_string(x.most);
                        },
                        [](const choice_key& x) {
                          return x.names.size() == 1 ? "'" + x.names[0] + "', the only known " + std::string{x.noun}
                                                     : "one of " + listed(x.names);
                        },
                        [](const text_key&) { return std::string{"text"}; },
                        [](const text_list_key&) { return std::string{"a list of texts"}; },
                        [](const variables_key&) { return std::string{"a mapping of variable names to values"}; },
                    },
                    k.kind);
}

std::string shown(const key& k, const config& settings) {
  auto copy = settings;
  return std::visit(overloaded{
                        [&](const seconds_key& x) { return seconds_text(x.at(copy).count()); },
                        [&](const count_key& x) { return std::to_string(x.at(copy)); },
                        [&](const choice_key& x) {
                          const auto i = x.get(settings);
                          return i < x.names.size() ? x.names[i] : std::string{"?"};
                        },
                        [&](const text_key& x) { return yaml_text(x.at(copy)); },
                        [&](const text_list_key& x) {
                          std::string result;
                          for (const auto& item : x.at(copy))
                            result += (result.empty() ? "" : ", ") + yaml_text(item);
                          return "[" + result + "]";
                        },
                        [&](const variables_key& x) { return std::string{x.at(copy).empty() ? "{}" : "{...}"}; },
                    },
                    k.kind);
}

std::string_view parent_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string nearest(std::string_view written, const std::vector<std::string>& candidates) {
  // A long word is no misspelling of a short one, and comparing it would only cost time.
  if (written.size() > 64)
    return {};
  std::string best;
  auto limit = std::max<std::size_t>(2, written.size() / 3) + 1;
  for (const auto& candidate : candidates)
    if (const auto d = distance(written, candidate); d < limit && d < std::max(written.size(), candidate.size())) {
      limit = d;
      best = candidate;
    }
  return best;
}

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i)
    result += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return result;
}

std::string seconds_text(std::int64_t ms) {
  auto result = std::to_string(ms / second);
  if (ms % second != 0) {
    auto fraction = std::to_string(second + ms % second).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    result += "." + fraction;
  }
  return result;
}

} // namespace berth::detail
