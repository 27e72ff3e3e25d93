#include "runtime/cluster.hpp"

#include <cerrno>
#include <cstring>

#include <caf/io/all.hpp>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/node.hpp"

namespace berth {

namespace {

std::string address(const std::string& host, std::uint16_t port) {
  const auto v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

caf::error refuse_unless_possible(caf::actor_system& system, const std::string& host) {
  if (!is_loopback(host))
    return make_error(errc::invalid_argument, "'" + host
                                                  + "' is not a loopback address: the protocol between nodes has no "
                                                    "authentication; use 127.0.0.1, ::1 or localhost");
  if (!system.has_middleman())
    return make_error(errc::invalid_argument, "the actor system has no middleman: call berth::prepare on its "
                                              "configuration before it starts");
  return {};
}

// CAF says only that it could not bind; this asks the system why.
int bind_errno(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0 || found == nullptr)
    return EADDRNOTAVAIL;
  auto failed = 0;
  const auto fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0
      || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0)
    failed = errno;
  if (fd >= 0)
    close(fd);
  freeaddrinfo(found);
  return failed;
}

caf::error explain_dial(const caf::error& reason, const std::string& where) {
  if (reason == caf::sec::cannot_connect_to_node)
    return make_error(errc::unreachable, where + "; start a node with 'berth node'");
  if (reason == caf::sec::request_timeout || reason == caf::sec::connection_timeout)
    return make_error(errc::timed_out, where + " does not answer; is it a berth node?");
  if (reason == caf::sec::incompatible_application_ids)
    return make_error(errc::protocol_error, where
                                                + " is a node of another version of berth, or of another program; "
                                                  "this one speaks "
                                                + std::string{detail::protocol_name});
  if (reason == caf::sec::disconnect_during_handshake || reason == caf::sec::no_actor_published_at_port
      || reason == caf::sec::incompatible_versions)
    return make_error(errc::protocol_error, where + " is not a berth node");
  return make_error(errc::protocol_error, where + ": " + context_of(reason));
}

} // namespace

namespace detail {

caf::expected<std::uint16_t> publish_provider(caf::actor_system& system, const provider_actor& provider,
                                              const std::string& host, std::uint16_t port) {
  if (auto refused = refuse_unless_possible(system, host))
    return refused;
  // SO_REUSEADDR: without it the connections of a former node keep the port for a minute after it ended. A port on
  // which somebody listens is refused all the same.
  auto bound = system.middleman().publish(provider, port, host.c_str(), true);
  if (bound)
    return bound;
  const auto why = bind_errno(host, port);
  const auto where = address(host, port);
  if (why == EADDRINUSE)
    return make_error(errc::already_running, where
                                                 + " is taken, perhaps by another berth node; stop that one, or set "
                                                   "node.listen to another port");
  if (why == EACCES || why == EPERM)
    return make_error(errc::permission_denied, where
                                                   + " needs rights that this process has not; take a port above "
                                                     "1023");
  return make_error(errc::invalid_argument,
                    where + " cannot be bound: " + (why != 0 ? std::strerror(why) : context_of(bound.error()).c_str()));
}

void unpublish_provider(caf::actor_system& system, const provider_actor& provider, std::uint16_t port) {
  // An error here means that the port is closed already.
  static_cast<void>(system.middleman().unpublish(provider, port));
}

} // namespace detail

caf::expected<provider_actor> connect(caf::actor_system& system, const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds bound) {
  if (auto refused = refuse_unless_possible(system, host))
    return refused;
  const auto where = address(host, port);
  // Not middleman::remote_actor: it waits for ever for a peer that accepts and keeps silent.
  caf::expected<provider_actor> result{make_error(errc::promise_forgotten)};
  caf::scoped_actor self{system};
  self->request(system.middleman().actor_handle(), caf::duration{bound}, caf::connect_atom::value, host, port)
      .receive(
          [&](const caf::node_id&, const caf::strong_actor_ptr& whom, const std::set<std::string>& interface) {
            if (!whom)
              result = make_error(errc::protocol_error, where + " is a CAF node that publishes nothing");
            else if (!system.assignable(interface, system.message_types<provider_actor>()))
              result = make_error(errc::protocol_error, where + " publishes something else than a provider");
            else
              result = caf::actor_cast<provider_actor>(whom);
          },
          [&](const caf::error& reason) { result = explain_dial(reason, where); });
  return result;
}

} // namespace berth
