#include "runtime/env_policy.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace berth {

namespace {

// E2. Substrings on purpose: COMPASS_HOME, BYPASS_X and GIT_ASKPASS are collateral (E5), a missed secret is worse.
constexpr std::array<std::string_view, 6> blocked_parts{"KEY", "SECRET", "TOKEN", "PASS", "CREDENTIAL", "DSN"};

// E3. Names that carry a credential inside a value that looks like an address, or without any of the words above.
constexpr std::array<std::string_view, 19> blocked_names{
    "AMQP_URL",     "CLICKHOUSE_URL", "CONNECTION_STRING", "CONN_STR",       "DATABASE_URI",
    "DATABASE_URL", "GH_PAT",         "GITHUB_PAT",        "MONGODB_URI",    "MONGO_URL",
    "MYSQL_PWD",    "MYSQL_URL",      "PGSERVICEFILE",     "POSTGRESQL_URL", "POSTGRES_URL",
    "RABBITMQ_URL", "REDISCLI_AUTH",  "REDIS_AUTH",        "REDIS_URL"};

// Not std::toupper: the answer must not depend on the locale of the host.
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

} // namespace

bool is_blocked_variable(std::string_view name) {
  std::string folded{name};
  std::transform(folded.begin(), folded.end(), folded.begin(), upper);
  return std::any_of(blocked_parts.begin(), blocked_parts.end(),
                     [&](std::string_view part) { return folded.find(part) != std::string::npos; })
         || std::find(blocked_names.begin(), blocked_names.end(), folded) != blocked_names.end();
}

std::map<std::string, std::string> command_environment(const std::map<std::string, std::string>& inherited,
                                                       const std::map<std::string, std::string>& injected) {
  auto result = injected;
  for (const auto& [name, value] : inherited)
    if (!is_blocked_variable(name))
      result.emplace(name, value);
  return result;
}

std::map<std::string, std::string> command_environment() { return command_environment(process_environment(), {}); }

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    if (const auto split = text.find('='); split != std::string_view::npos && split > 0)
      result.emplace(text.substr(0, split), text.substr(split + 1));
  }
  return result;
}

} // namespace berth
