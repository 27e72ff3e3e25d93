#include "tools/berth/session.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages/log.hpp"
#include "runtime/logging.hpp"
#include "tools/berth/progress.hpp"

namespace berth::cli {

namespace {

// Whether anything accepts connections there. Loopback answers at once; the bound is for a listener whose queue is full.
bool listens(const endpoint& at) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found) != 0)
    return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
  for (const auto* a = found; a != nullptr; a = a->ai_next) {
    const auto fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0)
      continue;
    auto connected = ::connect(fd, a->ai_addr, a->ai_addrlen) == 0;
    if (!connected && errno == EINPROGRESS) {
      pollfd ready{fd, POLLOUT, 0};
      int failed = 1;
      socklen_t size = sizeof failed;
      connected =
          ::poll(&ready, 1, 1000) == 1 && ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
    }
    ::close(fd);
    if (connected)
      return true;
  }
  return false;
}

} // namespace

struct session::system_config : caf::actor_system_config {
  system_config() { prepare(*this); }
};

session::session(std::shared_ptr<inbox> events)
    : inbox_(std::move(events)), config_(std::make_unique<system_config>()) {
  system_ = std::make_unique<caf::actor_system>(*config_);
  // A worker whose node fell silent must not keep the process from ending.
  system_->await_actors_before_shutdown(false);
}

session::~session() {
  if (node_) {
    const progress shown{"stopping the embedded node"};
    provider_ = nullptr;
    for (const auto& id : node_->stop(stop_bound_).left)
      log::error("sandbox " + id.value + " could not be stopped in time");
    node_.reset();
  }
  provider_ = nullptr;
}

std::string session::why_embedded() const {
  return looked_for_ ? "no node listens on " + address_
                     : std::string{"no running node was looked for (--embedded, or port 0)"};
}

caf::error session::connect_to(const std::string& address) {
  const auto at = parse_endpoint(address);
  if (!at)
    return at.error();
  progress shown{"connecting to the node on " + address};
  std::optional<caf::expected<provider_actor>> found_there;
  std::atomic<bool> answered{false};
  // A thread, since a peer that accepts and then is silent keeps connect waiting, and a signal must not wait with it.
  const std::jthread worker{[&] {
    found_there = connect(*system_, at->host, at->port);
    inbox_->post([&] { answered = true; });
  }};
  constexpr std::chrono::hours round{1}; // connect has the bound
  while (!answered)
    if (inbox_->run_until([&] { return answered.load(); }, round, true) == waited::signalled) {
      shown.end();
      // Nothing was asked of the node yet; an orderly end would wait for the silent peer.
      ::_exit(128 + inbox_->signalled());
    }
  auto& found = *found_there;
  if (!found)
    return found.error();
  provider_ = std::move(*found);
  return {};
}

caf::error session::start_embedded(const config& settings) {
  const progress shown{"starting a node"};
  stop_bound_ = settings.node.shutdown_timeout;
  auto started = node::start(*system_, settings);
  if (!started)
    return started.error();
  node_ = std::move(*started);
  provider_ = node_->provider();
  return {};
}

caf::expected<std::unique_ptr<session>> session::start_node(const config& settings, std::shared_ptr<inbox> events) {
  std::unique_ptr<session> result{new session{std::move(events)}};
  divert_caf_output(*result->system_, settings.log.level);
  result->address_ = settings.node.listen;
  if (auto e = result->start_embedded(settings))
    return e;
  return result;
}

caf::expected<std::unique_ptr<session>> session::open(const config& settings, const options& opts,
                                                      std::shared_ptr<inbox> events) {
  std::unique_ptr<session> result{new session{std::move(events)}};
  divert_caf_output(*result->system_, settings.log.level);
  result->address_ = opts.node.value_or(settings.node.listen);
  const auto at = parse_endpoint(result->address_);
  if (!opts.embedded && at && at->port != 0) {
    result->looked_for_ = true;
    if (listens(*at)) {
      if (auto e = result->connect_to(result->address_))
        return e;
      return result;
    }
    if (opts.node)
      return make_error(errc::unreachable, "no node listens on " + *opts.node + "; start one with 'berth node'");
  }
  if (auto e = result->start_embedded(settings)) {
    if (code_of(e) == errc::already_running)
      return make_error(errc::already_running,
                        context_of(e) + "; reach that node with --node HOST:PORT, or choose another --data-dir");
    return e;
  }
  return result;
}

} // namespace berth::cli
