#include "actors/reconciler.hpp"

#include <unordered_map>
#include <unordered_set>

#include "actors/fan_out.hpp"
#include "messages/log.hpp"

namespace berth {

namespace {

struct reconciler_state {
  using self_type = self_ptr<reconciler_actor, reconciler_state>;
  using time_point = caf::actor_clock::time_point;

  static constexpr std::size_t window = 32; // questions to the store, or proposals, at a time

  static inline const char* name = "reconciler";

  self_type self = nullptr;
  lifecycle_options options;
  caf::actor_addr provider;
  store_actor store;
  backend_actor backend;
  std::unordered_map<instance_id, time_point> unowned_since; // the grace clocks
  std::vector<answer<reconcile_report>> waiting;
  reconcile_report report;
  bool running = false;

  reconciler_state() = default;

  void start() {
    if (std::exchange(running, true))
      return;
    report = {};
    ask(
        self, backend, options.probe_bound * 4, list_sandboxes{},
        [this](const inventory& seen) { inspect_inventory(seen); },
        [this](const caf::error& e) {
          log::warn("reconcile: inventory: " + explain(e));
          finish();
        });
  }

  void inspect_inventory(const inventory& seen) {
    report.complete = seen.complete;
    report.listed = static_cast<std::int32_t>(seen.instances.size());
    std::unordered_set<instance_id> listed;
    std::vector<instance> ours;
    for (const auto& x : seen.instances) {
      if (x.fleet != options.fleet) {
        ++report.foreign;
        continue;
      }
      listed.insert(x.instance);
      ours.push_back(x);
    }
    // An incomplete inventory proves nothing about what it omits.
    if (seen.complete)
      std::erase_if(unowned_since, [&listed](const auto& clock) { return !listed.contains(clock.first); });
    filter(std::move(ours));
  }

  void filter(std::vector<instance> ours) {
    const auto p = caf::actor_cast<provider_actor>(provider);
    if (!p || ours.empty())
      return finish();
    filter_untracked question;
    for (const auto& x : ours)
      question.ids.push_back(x.id);
    ask(
        self, p, options.store_bound, std::move(question),
        [this, ours](const untracked& unknown) {
          const std::unordered_set<sandbox_id> ids(unknown.ids.begin(), unknown.ids.end());
          std::vector<instance> candidates;
          for (const auto& x : ours)
            if (ids.contains(x.id))
              candidates.push_back(x);
            else
              unowned_since.erase(x.instance);
          report.untracked = static_cast<std::int32_t>(candidates.size());
          check_grace(std::move(candidates));
        },
        [this](const caf::error&) { finish(); });
  }

  void check_grace(std::vector<instance> candidates) {
    ask(
        self, store, options.store_bound, store_query{},
        [this, candidates](const store_info& info) {
          // A store that sees no peers can show no peer's lease: a grace could not help (spec section 5).
          const auto grace = info.supports_cross_process ? std::chrono::milliseconds{info.lease_time_ms}
                                                         : std::chrono::milliseconds{0};
          fan_out<instance>::run(
              candidates, window,
              [this, grace](const instance& x, std::function<void()> done) { consider(x, grace, std::move(done)); },
              [this] { finish(); });
        },
        [this](const caf::error& e) {
          log::warn("reconcile: store: " + explain(e) + "; nothing is adopted");
          finish();
        });
  }

  void consider(const instance& x, std::chrono::milliseconds grace, std::function<void()> done) {
    if (grace.count() == 0)
      return propose(x, std::move(done));
    ask(
        self, store, options.store_bound, query_lease{x.id},
        [this, x, grace, done](const lease_view& lease) {
          if (lease.state != lease_state::absent) {
            unowned_since.erase(x.instance); // an owner was seen: the clock starts anew, it does not pause (spec R27)
            return done();
          }
          const auto now = self->clock().now();
          const auto since = unowned_since.try_emplace(x.instance, now).first->second;
          if (now - since < grace) {
            ++report.in_grace;
            return done();
          }
          propose(x, done);
        },
        [done](const caf::error&) { done(); }); // cannot tell: neither adopted nor its clock started
  }

  void propose(const instance& x, std::function<void()> done) {
    const auto p = caf::actor_cast<provider_actor>(provider);
    if (!p)
      return done();
    ++report.proposed;
    ask(
        self, p, options.store_bound * 3, adopt_sandbox{x},
        [this, x, done](const adopt_answer& a) {
          if (a.adopted) {
            ++report.adopted;
            unowned_since.erase(x.instance);
            log::info("reconcile: adopted " + x.id.value + " of " + to_text(x.owner_scope));
          }
          done();
        },
        [done](const caf::error& e) {
          log::warn("reconcile: adoption: " + explain(e));
          done();
        });
  }

  void finish() {
    running = false;
    for (auto& w : std::exchange(waiting, {}))
      w.ok(report);
  }

  void schedule() { self->delayed_send(self, options.reconcile_interval, tick{0}); }
};

reconciler_actor::behavior_type reconciler(reconciler_state::self_type self, const lifecycle_options& options,
                                           const caf::actor_addr& provider, const store_actor& store,
                                           const backend_actor& backend) {
  auto& s = self->state;
  s.self = self;
  s.options = options;
  s.provider = provider;
  s.store = store;
  s.backend = backend;
  s.start();
  s.schedule();
  return {
      [&s, self](reconcile_now) -> caf::result<reconcile_report> {
        answer<reconcile_report> to{self};
        s.waiting.push_back(to);
        s.start();
        return to;
      },
      [&s](const tick&) {
        s.start();
        s.schedule();
      },
  };
}

} // namespace

reconciler_actor spawn_reconciler(caf::actor_system& system, const lifecycle_options& options,
                                  const provider_actor& provider, const store_actor& store,
                                  const backend_actor& backend) {
  return system.spawn(reconciler, options, caf::actor_cast<caf::actor_addr>(provider), store, backend);
}

} // namespace berth
