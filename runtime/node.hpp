#pragma once
// A berth node as a library call: start it inside your own caf::actor_system, talk to its provider, stop it.
//
//   caf::actor_system_config cfg;
//   berth::prepare(cfg);
//   caf::actor_system system{cfg};
//   auto node = berth::node::start(system, berth::default_config());
//
// A node must be stopped or destroyed before its actor system.
#include <chrono>
#include <memory>
#include <string>

#include "messages/actors.hpp"
#include "runtime/config.hpp"
#include "runtime/version.hpp"

namespace berth {

/// Sets what berth needs of an actor system: its messages, a fair scheduler, bounded middleman time-outs, the
/// middleman itself. Call on your actor_system_config before the system starts; what you set afterwards wins.
/// Processes that talk to each other must both have been prepared by versions with the same protocol number.
void prepare(caf::actor_system_config& config);

/// A running node. Stops in its destructor if nobody stopped it before.
class node {
public:
  /// Starts the store, the backend and the provider that `settings` names. The error says what was wrong and what
  /// would be right (config_invalid, already_running, permission_denied, read_only, no_space, unsupported, ...).
  static caf::expected<std::unique_ptr<node>> start(caf::actor_system& system, const config& settings);

  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// The actor that answers acquire, release, list and the rest.
  [[nodiscard]] const provider_actor& provider() const;

  /// Who this node is in leases: `HOST:` and 32 hex digits, new at every start.
  [[nodiscard]] const node_id& id() const;

  /// What was chosen at the start.
  [[nodiscard]] const backend_info& backend() const;

  /// Publishes the provider on loopback for `berth` commands and peers; the port (chosen by the system if 0).
  /// Errors: already_running when the port is taken, permission_denied, invalid_argument (not a loopback address).
  caf::expected<std::uint16_t> publish(const std::string& host, std::uint16_t port);

  /// Destroys what this node owns, within `bound`, and ends its actors. Called twice, it answers the first report; the
  /// second caller waits for the first.
  shutdown_report stop(std::chrono::milliseconds bound);

private:
  struct parts;
  explicit node(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

/// Connects to a node published at host:port (loopback), within `bound`. Errors: unreachable (nothing listens),
/// timed_out (something listens and keeps silent), protocol_error (not a berth node, or one of another version),
/// invalid_argument (not a loopback address).
caf::expected<provider_actor> connect(caf::actor_system& system, const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds bound = std::chrono::seconds{5});

} // namespace berth
