#pragma once
// The numbers a node's lifecycle runs on. Defaults are those of the configuration (README, runtime/config.hpp).
#include <chrono>
#include <cstdint>
#include <string>

#include "messages/capacity.hpp"

namespace berth {

/// How one provider treats its sandboxes.
struct lifecycle_options {
  node_id node;                  ///< this process, the owner in leases
  std::string fleet = "default"; ///< instances of other fleets are never touched
  std::string version = "0";     ///< berth's version, for node_status
  std::int32_t replicas = 3;     ///< active and parked sandboxes of this node
  overflow_policy overflow = overflow_policy::wait;
  std::int32_t burst_limit = 0;                      ///< extra slots under overflow_policy::burst
  std::chrono::milliseconds acquire_timeout{30'000}; ///< the longest wait for a slot
  std::chrono::milliseconds idle_timeout{600'000};   ///< 0 = keep until shutdown
  std::chrono::milliseconds idle_check_interval{60'000};
  std::chrono::milliseconds renewal_interval{30'000};
  std::int32_t ttl_multiplier = 4; ///< lease time = renewal interval x this, at least 2
  std::chrono::milliseconds reconcile_interval{60'000};
  std::chrono::milliseconds store_bound{5'000};   ///< one store round trip
  std::chrono::milliseconds probe_bound{5'000};   ///< one health or discovery probe
  std::chrono::milliseconds create_bound{60'000}; ///< create until ready
  std::chrono::milliseconds stop_bound{120'000};  ///< one stop
  std::chrono::milliseconds release_grace{2'000}; ///< running commands get this long to end on release
  std::chrono::milliseconds default_command_timeout{600'000};

  /// The lease time in the store.
  [[nodiscard]] std::chrono::milliseconds lease_time() const { return renewal_interval * ttl_multiplier; }
};

} // namespace berth
