#include "actors/provider.hpp"

#include <unordered_map>

#include "actors/capacity.hpp"
#include "actors/fan_out.hpp"
#include "actors/heartbeat.hpp"
#include "actors/reconciler.hpp"
#include "actors/sandbox.hpp"
#include "actors/scope.hpp"
#include "actors/warm_pool.hpp"
#include "messages/log.hpp"

namespace berth {

namespace {

using namespace std::chrono_literals;

struct provider_state {
  using self_type = self_ptr<provider_actor, provider_state>;

  struct entry {
    scope owner; // empty: adopted, and nobody has asked for it yet
    sandbox_actor handle;
    std::uint64_t forwarded = 0; // requests sent to the sandbox so far
  };

  static constexpr std::size_t window = 256; // sandboxes asked at a time
  static constexpr auto status_bound = 2s;

  static inline const char* name = "provider";

  self_type self = nullptr;
  std::shared_ptr<sandbox_peers> peers;
  heartbeat_actor heartbeat;
  reconciler_actor reconciler;
  using registry = std::unordered_map<sandbox_id, entry>;
  registry entries;
  // Both point into `entries`, whose nodes do not move; the first saves an acquire the hash of its scope.
  std::unordered_map<scope, registry::value_type*> by_scope;
  std::unordered_map<caf::actor_addr, registry::value_type*> by_address;
  caf::actor_clock::time_point started;
  bool down = false;

  provider_state() = default;
  provider_state(const provider_state&) = delete;
  provider_state& operator=(const provider_state&) = delete;

  // Whatever ends the provider, a kill included, ends what it has spawned.
  ~provider_state() {
    for (const auto& [id, e] : entries)
      caf::anon_send_exit(e.handle, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(reconciler, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(heartbeat, caf::exit_reason::user_shutdown);
    if (peers) {
      caf::anon_send_exit(peers->capacity, caf::exit_reason::user_shutdown);
      caf::anon_send_exit(peers->pool, caf::exit_reason::user_shutdown);
    }
  }

  const lifecycle_options& options() const { return peers->options; }

  // -- the registry of sandboxes ---------------------------------------------------------------------------------------

  entry& track(const sandbox_id& id) {
    auto [i, fresh] = entries.try_emplace(id);
    if (fresh) {
      i->second.handle = spawn_sandbox(self->system(), peers, self, id);
      self->monitor(i->second.handle);
      by_address.emplace(i->second.handle.address(), &*i);
      self->send(heartbeat, berth::track{id}, i->second.handle);
    }
    return i->second;
  }

  void drop(const sandbox_id& id) {
    const auto i = entries.find(id);
    if (i == entries.end())
      return;
    self->send(heartbeat, untrack{id});
    self->demonitor(i->second.handle.address());
    by_address.erase(i->second.handle.address());
    by_scope.erase(i->second.owner);
    entries.erase(i);
  }

  // A sandbox actor that died of a defect: free what it held, so that its scope can be served again.
  void on_down(const caf::down_msg& x) {
    const auto i = by_address.find(x.source);
    if (i == by_address.end())
      return;
    const auto id = i->second->first;
    log::error("sandbox actor " + id.value + " died: " + self->system().render(x.reason));
    drop(id);
    self->send(peers->capacity, free_slot{id});
    self->send(peers->pool, departed{id});
  }

  void on_retired(const retired& x) {
    const auto i = entries.find(x.id);
    // Something was forwarded meanwhile: it is in use again, or will say so anew.
    if (i == entries.end() || i->second.forwarded != x.seen)
      return;
    self->send(i->second.handle, retire{x.seen});
    drop(x.id);
  }

  // -- requests --------------------------------------------------------------------------------------------------------

  caf::result<acquired> acquire(const acquire_sandbox& x) {
    if (down)
      return make_error(errc::shutting_down, "retry on another node, or in 30 s");
    auto known = by_scope.find(x.owner_scope);
    if (known == by_scope.end()) {
      if (auto e = validate(x.owner_scope))
        return e;
      const auto id = id_of(x.owner_scope);
      auto& fresh = track(id);
      if (fresh.owner.user.empty())
        fresh.owner = x.owner_scope;
      if (fresh.owner != x.owner_scope)
        return make_error(errc::id_collision, "id " + id.value + " is in use by another scope; nothing was touched");
      known = by_scope.emplace(x.owner_scope, &*entries.find(id)).first;
    }
    auto& target = known->second->second;
    ++target.forwarded;
    return self->delegate(target.handle, x);
  }

  template <class Reply, class Request>
  caf::result<Reply> forward(const Request& x, Reply unknown) {
    const auto i = entries.find(x.id);
    if (i == entries.end())
      return unknown;
    ++i->second.forwarded;
    return self->delegate(i->second.handle, x);
  }

  caf::result<sandbox_actor> get(const get_sandbox& x) {
    const auto i = entries.find(x.id);
    if (i == entries.end())
      return make_error(errc::sandbox_unknown, "'" + x.id.value + "'; acquire the sandbox of its scope");
    return i->second.handle;
  }

  caf::result<tracked_list> list() {
    answer<tracked_list> to{self};
    auto gathered = std::make_shared<tracked_list>();
    std::vector<sandbox_actor> handles;
    for (const auto& [id, e] : entries)
      handles.push_back(e.handle);
    fan_out<sandbox_actor>::run(
        std::move(handles), window,
        [this, gathered](const sandbox_actor& handle, std::function<void()> done) {
          ask(
              self, handle, status_bound, query_status{},
              [gathered, done](const sandbox_status& s) {
                if (s.state != sandbox_state::absent)
                  gathered->sandboxes.push_back(s);
                done();
              },
              [done](const caf::error&) { done(); }); // closed while we asked
        },
        [gathered, to] {
          std::sort(gathered->sandboxes.begin(), gathered->sandboxes.end(),
                    [](const auto& a, const auto& b) { return a.owner_scope < b.owner_scope; });
          to.ok(std::move(*gathered));
        });
    return to;
  }

  // Asked one after another: a rare request, and each part may be missing without spoiling the rest.
  caf::result<node_status> status() {
    answer<node_status> to{self};
    auto s = std::make_shared<node_status>();
    s->node = options().node;
    s->version = options().version;
    s->provider = "sandbox";
    s->tracked = static_cast<std::int32_t>(entries.size());
    s->slots = options().replicas;
    s->uptime_ms = std::chrono::duration_cast<std::chrono::milliseconds>(self->clock().now() - started).count();
    auto left = std::make_shared<int>(4);
    const auto done = [s, to, left] {
      if (--*left == 0)
        to.ok(*s);
    };
    const auto missing = [done](const caf::error&) { done(); };
    ask(
        self, peers->backend, status_bound, backend_query{},
        [s, done](const backend_info& x) {
          s->backend = x;
          done();
        },
        missing);
    ask(
        self, peers->store, status_bound, store_query{},
        [s, done](const store_info& x) {
          s->store = x;
          done();
        },
        missing);
    ask(
        self, peers->capacity, status_bound, query_capacity{},
        [s, done](const capacity_status& x) {
          s->slots_used = x.used;
          s->waiting = x.waiting;
          done();
        },
        missing);
    ask(
        self, peers->pool, status_bound, query_pool{},
        [s, done](const pool_status& x) {
          s->parked = x.parked;
          done();
        },
        missing);
    return to;
  }

  caf::result<shutdown_report> close_all(std::chrono::milliseconds bound) {
    answer<shutdown_report> to{self};
    auto report = std::make_shared<shutdown_report>();
    std::vector<std::pair<sandbox_id, sandbox_actor>> targets;
    for (auto& [id, e] : entries) {
      ++e.forwarded;
      targets.emplace_back(id, e.handle);
    }
    using target = std::pair<sandbox_id, sandbox_actor>;
    fan_out<target>::run(
        std::move(targets), window,
        [this, report, until = self->clock().now() + bound](const target& x, std::function<void()> done) {
          const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - self->clock().now());
          ask(
              self, x.second, std::max(left, std::chrono::milliseconds{1}),
              close_sandbox{x.first, close_reason::shutdown},
              [report, done](const close_answer& a) {
                if (a.outcome == close_outcome::closed)
                  ++report->closed;
                else if (a.outcome != close_outcome::unknown_id)
                  report->left.push_back(a.id);
                done();
              },
              [report, done, id = x.first](const caf::error& e) {
                log::warn("shutdown: sandbox " + id.value + ": " + explain(e));
                report->left.push_back(id);
                done();
              });
        },
        [report, to] { to.ok(std::move(*report)); });
    return to;
  }
};

provider_actor::behavior_type provider(provider_state::self_type self, lifecycle_options options,
                                       const store_actor& store, const backend_actor& backend) {
  auto& s = self->state;
  auto& system = self->system();
  s.self = self;
  s.started = self->clock().now();
  s.peers = std::make_shared<sandbox_peers>();
  s.peers->options = std::move(options);
  s.peers->store = store;
  s.peers->backend = backend;
  s.peers->log_transitions = log::debug_enabled();
  s.peers->pool = spawn_warm_pool(system, s.options());
  s.peers->capacity = spawn_capacity(system, s.options(), s.peers->pool);
  s.heartbeat = spawn_heartbeat(system, s.options());
  s.reconciler = spawn_reconciler(system, s.options(), self, store, backend);
  self->set_down_handler([&s](const caf::down_msg& x) { s.on_down(x); });
  return {
      [&s](const acquire_sandbox& x) { return s.acquire(x); },
      [&s](const get_sandbox& x) { return s.get(x); },
      [&s](const release_sandbox& x) {
        return s.forward(x, released{x.id, sandbox_state::absent, 0});
      },
      [&s](const close_sandbox& x) {
        return s.forward(x, close_answer{x.id, close_outcome::unknown_id});
      },
      [&s](list_tracked) { return s.list(); },
      [&s](query_node) { return s.status(); },
      [&s](reset_provider) { return s.close_all(s.options().stop_bound); },
      [&s](const shutdown_provider& x) {
        s.down = true;
        return s.close_all(std::chrono::milliseconds{std::max<std::int64_t>(x.bound_ms, 1)});
      },
      [&s](const adopt_sandbox& x) -> caf::result<adopt_answer> {
        if (s.down)
          return adopt_answer{x.found.id, false};
        auto& target = s.track(x.found.id);
        if (target.owner.user.empty() && !x.found.owner_scope.user.empty()) {
          target.owner = x.found.owner_scope;
          s.by_scope.emplace(target.owner, &*s.entries.find(x.found.id));
        }
        ++target.forwarded;
        return s.self->delegate(target.handle, x);
      },
      [&s](const filter_untracked& x) {
        untracked result;
        for (const auto& id : x.ids)
          if (!s.entries.contains(id))
            result.ids.push_back(id);
        return result;
      },
      [&s](const retired& x) { s.on_retired(x); },
  };
}

} // namespace

provider_actor spawn_provider(caf::actor_system& system, lifecycle_options options, store_actor store,
                              backend_actor backend) {
  return system.spawn(provider, std::move(options), std::move(store), std::move(backend));
}

} // namespace berth
