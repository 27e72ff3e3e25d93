#pragma once
// A berth node as a library call: start it inside your own caf::actor_system, talk to its provider, stop it.
#include <chrono>
#include <memory>
#include <string>

#include "messages/actors.hpp"
#include "runtime/config.hpp"

namespace berth {

/// Sets what berth needs of an actor system: its messages, a fair scheduler, bounded middleman time-outs, the
/// middleman itself. Call on your actor_system_config before the system starts.
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

  /// Publishes the provider on loopback for `berth` commands and peers; the port (chosen by the system if 0).
  /// Errors: already_running when the port is taken.
  caf::expected<std::uint16_t> publish(const std::string& host, std::uint16_t port);

  /// Destroys what this node owns, within `bound`, and ends its actors. Called twice, it answers the first report.
  shutdown_report stop(std::chrono::milliseconds bound);

private:
  struct parts;
  explicit node(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

/// Connects to a node published at host:port. Errors: timed_out, protocol_error (not a berth node).
caf::expected<provider_actor> connect(caf::actor_system& system, const std::string& host, std::uint16_t port);

} // namespace berth
