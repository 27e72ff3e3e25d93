#include "runtime/node.hpp"

#include <mutex>
#include <thread>

#include <caf/io/all.hpp>
#include <unistd.h>

#include "actors/provider.hpp"
#include "messages/log.hpp"
#include "messages/types.hpp"
#include "runtime/cluster.hpp"
#include "runtime/random.hpp"
#include "runtime/registry.hpp"
#include "runtime/unique_node.hpp"
#include "store/memory.hpp"

namespace berth {

namespace {

using std::chrono::milliseconds;
using time_point = std::chrono::steady_clock::time_point;

// Answers of actors of this process that do no I/O before they answer.
constexpr milliseconds local_bound{5'000};
// What a stop keeps back from its bound for ending the actors after the sandboxes.
constexpr milliseconds largest_reserve{500};

node_id make_node_id() {
  std::string host(256, '\0');
  if (gethostname(host.data(), host.size() - 1) != 0)
    host = "node";
  host.resize(std::min(host.find('\0'), host.size()));
  for (auto& c : host)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
      c = '-';
  return node_id{(host.empty() ? "node" : host) + ":" + random_hex()};
}

// Epochs must not fall behind those of a former run whose sandboxes may still carry them.
std::uint64_t epoch_of_this_start() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(now).count());
}

caf::expected<store_actor> spawn_store(caf::actor_system& system, const config& settings) {
  const auto& ownership = settings.sandbox.ownership;
  if (ownership.type != "memory")
    return make_error(errc::config_invalid,
                      "sandbox.ownership.type: unknown lease store '" + ownership.type + "'; known: memory");
  return spawn_memory_store(system, ownership.renewal_interval * ownership.ttl_multiplier, epoch_of_this_start());
}

template <class Reply, class Handle, class Request>
caf::expected<Reply> ask_blocking(caf::scoped_actor& self, const Handle& dest, milliseconds bound, Request&& request) {
  caf::expected<Reply> result{make_error(errc::promise_forgotten)};
  self->request(dest, caf::duration{bound}, std::forward<Request>(request))
      .receive([&](Reply& reply) { result = std::move(reply); },
               [&](caf::error& reason) { result = std::move(reason); });
  return result;
}

milliseconds until(time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds{0});
}

// Ends actors in the given order; one that is not gone by the deadline is told once more, and no longer waited for.
class ending {
public:
  ending(caf::scoped_actor& self, time_point deadline) : self_(self), deadline_(deadline) {}

  template <class Handle>
  void operator()(const Handle& actor, std::string_view name) {
    if (!actor)
      return;
    self_->monitor(actor);
    self_->send_exit(actor, caf::exit_reason::user_shutdown);
    auto gone = false;
    auto late = false;
    while (!gone && !late)
      self_->receive([&](const caf::down_msg& x) { gone = x.source == actor.address(); },
                     caf::after(until(deadline_)) >> [&] { late = true; });
    if (late) {
      log::warn(std::string{"stop: the "} + std::string{name} + " did not end in time");
      self_->send_exit(actor, caf::exit_reason::kill);
    }
  }

private:
  caf::scoped_actor& self_;
  time_point deadline_;
};

} // namespace

struct node::parts {
  parts(caf::actor_system& s, node_id n) : system(s), id(std::move(n)) {}

  caf::actor_system& system;
  node_id id;
  milliseconds shutdown_timeout{0};
  store_actor store;
  backend_actor backend;
  backend_info about_backend;
  provider_actor provider;
  std::mutex mutex; // guards what follows
  std::vector<std::uint16_t> ports;
  caf::optional<shutdown_report> report;
};

void prepare(caf::actor_system_config& config) {
  detail::link_unique_node_id();
  add_messages(config);
  config.load<caf::io::middleman>();
  // Workers that wait on a condition variable: an idle node costs nothing, and a message from outside the scheduler is
  // picked up at once. Work stealing polls with sleeps in between.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{std::max(2U, std::thread::hardware_concurrency())});
  // Unlimited by default, and then two busy actors starve all others.
  config.set("scheduler.max-throughput", std::size_t{100});
  // Deserialise in the multiplexer: faster than handing over, and in order.
  config.set("middleman.workers", std::size_t{0});
  // Both are off by default, and then a peer that hangs is never noticed.
  config.set("middleman.heartbeat-interval", caf::timespan{std::chrono::seconds{2}});
  config.set("middleman.connection-timeout", caf::timespan{std::chrono::seconds{8}});
  config.set("middleman.app-identifiers", std::vector<std::string>{std::string{detail::protocol_name}});
}

caf::expected<std::unique_ptr<node>> node::start(caf::actor_system& system, const config& settings) {
  auto p = std::make_unique<parts>(system, make_node_id());
  p->shutdown_timeout = settings.node.shutdown_timeout;
  auto store = spawn_store(system, settings);
  if (!store)
    return std::move(store.error());
  p->store = std::move(*store);
  // From here on a failure ends what was started: the destructor of a node that has no provider yet does that.
  std::unique_ptr<node> result{new node(std::move(p))}; // NOLINT: the constructor is private
  auto& self_parts = *result->parts_;
  auto backend = spawn_backend(system, settings, self_parts.id);
  if (!backend)
    return std::move(backend.error());
  self_parts.backend = std::move(*backend);
  caf::scoped_actor self{system};
  auto about = ask_blocking<backend_info>(self, self_parts.backend, local_bound, backend_query{});
  if (!about)
    return std::move(about.error());
  self_parts.about_backend = std::move(*about);
  auto leases = ask_blocking<store_info>(self, self_parts.store, local_bound, store_query{});
  if (!leases)
    return std::move(leases.error());
  self_parts.provider =
      spawn_provider(system, to_lifecycle_options(settings, self_parts.id), self_parts.store, self_parts.backend);
  log::info("node " + self_parts.id.value + " of fleet " + settings.node.fleet + ", berth " + std::string{version()});
  log::info("backend " + self_parts.about_backend.kind + ": " + self_parts.about_backend.detail);
  if (!leases->supports_cross_process)
    log::warn("lease store " + leases->name
              + ": leases are kept in this process only; run no second node against the same sandboxes");
  return result;
}

node::node(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

node::~node() { stop(parts_->shutdown_timeout); }

const provider_actor& node::provider() const { return parts_->provider; }
const node_id& node::id() const { return parts_->id; }
const backend_info& node::backend() const { return parts_->about_backend; }

caf::expected<std::uint16_t> node::publish(const std::string& host, std::uint16_t port) {
  const std::lock_guard lock{parts_->mutex};
  if (parts_->report)
    return make_error(errc::shutting_down, "the node was stopped");
  auto bound = detail::publish_provider(parts_->system, parts_->provider, host, port);
  if (bound) {
    parts_->ports.push_back(*bound);
    log::info("serving on " + host + ":" + std::to_string(*bound));
  }
  return bound;
}

shutdown_report node::stop(milliseconds bound) {
  const std::lock_guard lock{parts_->mutex};
  if (parts_->report)
    return *parts_->report;
  auto& p = *parts_;
  const auto deadline = std::chrono::steady_clock::now() + bound;
  shutdown_report report;
  caf::scoped_actor self{p.system};
  if (p.provider) {
    const auto closing = bound - std::min(bound / 4, largest_reserve);
    auto answer = ask_blocking<shutdown_report>(self, p.provider, closing, shutdown_provider{closing.count()});
    if (answer) {
      report = std::move(*answer);
    } else {
      log::warn("stop: " + explain(answer.error()));
      if (auto tracked =
              ask_blocking<tracked_list>(self, p.provider, std::min(until(deadline), local_bound), list_tracked{}))
        for (const auto& x : tracked->sandboxes)
          report.left.push_back(x.id);
    }
    for (const auto port : p.ports)
      detail::unpublish_provider(p.system, p.provider, port);
  }
  // The provider first: it is who still talks to the other two.
  ending end{self, deadline};
  end(p.provider, "provider");
  end(p.backend, "backend");
  end(p.store, "store");
  if (p.provider) {
    log::info("node stopped; sandboxes closed: " + std::to_string(report.closed));
    for (const auto& id : report.left)
      log::warn("sandbox " + id.value + " was left behind");
  }
  p.report = report;
  return report;
}

} // namespace berth
