#include "actors/warm_pool.hpp"

#include <list>
#include <unordered_map>

#include "messages/log.hpp"

namespace berth {

namespace {

struct pool_state {
  using self_type = self_ptr<warm_pool_actor, pool_state>;

  struct entry {
    sandbox_id id;
    sandbox_actor handle;
    std::int64_t parked_at_ns = 0; // 0 = active
    bool asked = false;            // a reap is out; do not ask twice
  };
  using order = std::list<entry>;

  // How many teardowns an idle pass keeps under way; a pass over a hundred thousand must not drown the backend.
  static constexpr std::size_t reap_window = 64;

  static inline const char* name = "warm_pool";

  self_type self = nullptr;
  lifecycle_options options;
  order parked_order; // the oldest first
  order active_order; // in no order
  std::unordered_map<sandbox_id, order::iterator> entries;
  caf::actor_addr starving; // capacity, after an eviction that found nothing
  std::size_t reaping = 0;
  std::uint64_t generation = 1;

  pool_state() = default;

  std::int64_t now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(self->clock().now().time_since_epoch()).count();
  }

  void join(order& where, order::iterator position, const sandbox_id& id, const sandbox_actor& handle,
            std::int64_t parked_at_ns) {
    const auto found = entries.find(id);
    if (found == entries.end()) {
      entries.emplace(id, where.insert(position, entry{id, handle, parked_at_ns, false}));
      return;
    }
    const auto node = found->second;
    auto& from = node->parked_at_ns == 0 ? active_order : parked_order;
    node->parked_at_ns = parked_at_ns;
    node->handle = handle;
    node->asked = false;
    where.splice(position, from, node);
  }

  void park(const parked& x, const sandbox_actor& handle) {
    if (const auto found = entries.find(x.id); found != entries.end() && found->second->parked_at_ns != 0) {
      // Parked still, after a teardown that did not happen: its age is unchanged, and so is its place.
      found->second->asked = false;
      found->second->parked_at_ns = x.parked_at_ns;
    } else {
      auto position = parked_order.end();
      while (position != parked_order.begin() && std::prev(position)->parked_at_ns > x.parked_at_ns)
        --position;
      join(parked_order, position, x.id, handle, x.parked_at_ns);
    }
    if (auto waiting = caf::actor_cast<capacity_actor>(std::exchange(starving, nullptr)))
      self->send(waiting, victim_available{});
  }

  void leave(const sandbox_id& id) {
    const auto found = entries.find(id);
    if (found == entries.end())
      return;
    auto& from = found->second->parked_at_ns == 0 ? active_order : parked_order;
    from.erase(found->second);
    entries.erase(found);
  }

  template <class Done>
  void ask_to_close(entry& victim, close_reason reason, Done done) {
    victim.asked = true;
    // A stop may wait for a store round trip before and after it.
    const auto bound = options.stop_bound + 4 * options.store_bound;
    const auto settle = [this, id = victim.id, at = victim.parked_at_ns, done](close_outcome outcome) {
      if (const auto found = entries.find(id); found != entries.end() && found->second->parked_at_ns == at)
        found->second->asked = false;
      done(outcome);
    };
    ask(
        self, victim.handle, bound, reap{victim.parked_at_ns, reason},
        [settle](const close_answer& a) { settle(a.outcome); },
        [settle, id = victim.id](const caf::error& e) {
          log::warn("warm pool: reaping " + id.value + ": " + explain(e));
          settle(close_outcome::failed);
        });
  }

  // The oldest that agrees. One that refuses (in use again, or a peer's now) or cannot be stopped stays where it is,
  // and the next younger one is asked (spec R37).
  void evict(const answer<evicted>& to, std::int64_t older_than_ns, const caf::actor_addr& who) {
    for (auto& victim : parked_order) {
      if (victim.asked || victim.parked_at_ns <= older_than_ns)
        continue;
      ask_to_close(victim, close_reason::evicted,
                   [this, to, who, id = victim.id, at = victim.parked_at_ns](close_outcome outcome) {
                     if (outcome == close_outcome::closed) {
                       log::info("warm pool: evicted " + id.value + " (replica_enforcement)");
                       to.ok(evicted{true, id});
                     } else {
                       evict(to, at, who);
                     }
                   });
      return;
    }
    starving = who;
    to.ok(evicted{false, {}});
  }

  void reap_expired() {
    const auto limit_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(options.idle_timeout).count();
    const auto now = now_ns();
    for (auto& candidate : parked_order) {
      if (reaping >= reap_window || now - candidate.parked_at_ns <= limit_ns)
        return;
      if (candidate.asked)
        continue;
      ++reaping;
      ask_to_close(candidate, close_reason::idle, [this, id = candidate.id](close_outcome outcome) {
        --reaping;
        if (outcome == close_outcome::closed) {
          log::info("warm pool: reaped " + id.value + " (idle_timeout)");
          reap_expired(); // the window has room again; one that was refused waits for the next check
        }
      });
    }
  }

  void check_idle() {
    reap_expired();
    // Active ones whose user forgot them: the sandbox itself knows since when nothing was asked of it.
    for (auto& candidate : active_order)
      self->send(candidate.handle, reap_idle{options.idle_timeout.count()});
  }

  void schedule() { self->delayed_send(self, options.idle_check_interval, tick{generation}); }
};

warm_pool_actor::behavior_type warm_pool(pool_state::self_type self, const lifecycle_options& options) {
  auto& s = self->state;
  s.self = self;
  s.options = options;
  if (options.idle_timeout.count() > 0)
    s.schedule();
  return {
      [&s](const parked& x, const sandbox_actor& handle) { s.park(x, handle); },
      [&s](const unparked& x, const sandbox_actor& handle) {
        s.join(s.active_order, s.active_order.end(), x.id, handle, 0);
      },
      [&s](const departed& x) { s.leave(x.id); },
      [&s, self](evict_one) -> caf::result<evicted> {
        // Before the promise: it takes the sender out of the message.
        const auto who = caf::actor_cast<caf::actor_addr>(self->current_sender());
        answer<evicted> to{self};
        s.evict(to, 0, who);
        return to;
      },
      [&s](query_pool) {
        return pool_status{static_cast<std::int32_t>(s.active_order.size()),
                           static_cast<std::int32_t>(s.parked_order.size())};
      },
      [&s](const tick& x) {
        if (x.generation != s.generation)
          return;
        s.check_idle();
        s.schedule();
      },
  };
}

} // namespace

warm_pool_actor spawn_warm_pool(caf::actor_system& system, const lifecycle_options& options) {
  return system.spawn(warm_pool, options);
}

} // namespace berth
