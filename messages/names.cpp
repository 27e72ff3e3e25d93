// The printed names of the enumerations: what logs, JSON and people see.
#include <array>
#include <string_view>

#include "messages/actors.hpp"

namespace berth {

namespace {

template <class Enum, std::size_t N>
std::string name_of(Enum value, const std::array<std::string_view, N>& names) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? std::string{names[i]} : "?" + std::to_string(i);
}

} // namespace

std::string to_string(lease_state x) {
  return name_of(x, std::array<std::string_view, 3>{"absent", "owned", "destroying"});
}
std::string to_string(lease_outcome x) {
  return name_of(
      x, std::array<std::string_view, 7>{"granted", "refused", "renewed", "lapsed", "lost", "released", "unchanged"});
}
std::string to_string(health x) { return name_of(x, std::array<std::string_view, 2>{"alive", "dead"}); }
std::string to_string(stream x) { return name_of(x, std::array<std::string_view, 2>{"out", "err"}); }
std::string to_string(exit_kind x) {
  return name_of(x, std::array<std::string_view, 4>{"exited", "signaled", "timed_out", "cancelled"});
}
std::string to_string(sandbox_state x) {
  return name_of(x, std::array<std::string_view, sandbox_state_count>{"absent", "opening", "active", "parking", "warm",
                                                                      "closing"});
}
std::string to_string(acquire_origin x) {
  return name_of(x, std::array<std::string_view, 4>{"created", "reused", "reclaimed", "discovered"});
}
std::string to_string(close_reason x) {
  return name_of(x, std::array<std::string_view, 6>{"requested", "idle", "evicted", "dead", "shutdown", "abandoned"});
}
std::string to_string(close_outcome x) {
  return name_of(x, std::array<std::string_view, 4>{"closed", "refused", "failed", "unknown_id"});
}
std::string to_string(overflow_policy x) {
  return name_of(x, std::array<std::string_view, 4>{"wait", "reject", "burst", "soft"});
}

} // namespace berth
