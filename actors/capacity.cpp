#include "actors/capacity.hpp"

#include <deque>
#include <unordered_set>

#include "messages/log.hpp"

namespace berth {

namespace {

struct capacity_state {
  using self_type = self_ptr<capacity_actor, capacity_state>;
  using time_point = caf::actor_clock::time_point;

  struct waiter {
    sandbox_id id;
    answer<slot_answer> to;
    time_point until;
  };

  static inline const char* name = "capacity";

  self_type self = nullptr;
  lifecycle_options options;
  warm_pool_actor pool;
  std::unordered_set<sandbox_id> used;
  std::deque<waiter> line;   // served in order
  std::size_t evictions = 0; // asked of the pool and not answered
  std::uint64_t generation = 0;

  capacity_state() = default;

  [[nodiscard]] bool has_room(std::int32_t extra = 0) const {
    return used.size() < static_cast<std::size_t>(options.replicas) + static_cast<std::size_t>(extra);
  }

  [[nodiscard]] slot_answer now() const { return {static_cast<std::int32_t>(used.size()), options.replicas}; }

  void grant(const sandbox_id& id, const answer<slot_answer>& to) {
    used.insert(id);
    to.ok(now());
  }

  void reserve(const sandbox_id& id, const answer<slot_answer>& to) {
    if (used.contains(id)) // asked twice: the slot is this sandbox's already
      return to.ok(now());
    if (line.empty() && has_room())
      return grant(id, to);
    line.push_back({id, to, self->clock().now() + options.acquire_timeout});
    if (line.size() == 1)
      watch_line();
    make_room();
  }

  // As many evictions under way as there are waiters, no more: one create, one eviction (spec W3).
  void make_room() {
    while (evictions < line.size()) {
      ++evictions;
      ask(
          self, pool, options.stop_bound * 2 + options.store_bound * 4, evict_one{},
          [this](const evicted& x) {
            --evictions;
            if (x.any)
              serve(); // the victim has freed its slot before the pool answered
            else
              overflow();
          },
          [this](const caf::error& e) {
            --evictions;
            log::warn("capacity: eviction: " + explain(e));
            overflow();
          });
    }
  }

  void serve() {
    while (!line.empty() && has_room()) {
      grant(line.front().id, line.front().to);
      line.pop_front();
    }
  }

  // Nothing parked can be evicted; active sandboxes never are.
  void overflow() {
    serve();
    if (line.empty())
      return;
    switch (options.overflow) {
    case overflow_policy::wait:
      return;
    case overflow_policy::reject:
      return refuse_front("all are in use");
    case overflow_policy::burst:
      if (!has_room(options.burst_limit))
        return refuse_front("all are in use, the burst of " + std::to_string(options.burst_limit) + " included");
      break;
    case overflow_policy::soft:
      log::warn("capacity: " + std::to_string(used.size() + 1) + " sandboxes, over the limit of "
                + std::to_string(options.replicas) + "; every one is in use");
      break;
    }
    grant(line.front().id, line.front().to);
    line.pop_front();
  }

  void refuse_front(const std::string& why) {
    line.front().to.fail(
        make_error(errc::capacity_exceeded, std::to_string(used.size()) + " of " + std::to_string(options.replicas)
                                                + " sandboxes exist and " + why
                                                + "; release one, or raise sandbox.replicas; retry after 5 s"));
    line.pop_front();
  }

  void give_back(const sandbox_id& id) {
    used.erase(id);
    for (const auto& w : line)
      if (w.id == id)
        w.to.fail(make_error(errc::cancelled, "left the line for a slot"));
    std::erase_if(line, [&id](const waiter& w) { return w.id == id; });
    serve();
  }

  void watch_line() {
    if (!line.empty())
      self->delayed_send(self, std::max(line.front().until - self->clock().now(), time_point::duration{1'000'000}),
                         tick{++generation});
  }

  void expire() {
    const auto now = self->clock().now();
    while (!line.empty() && line.front().until <= now)
      refuse_front("none was given back within "
                   + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options.acquire_timeout).count())
                   + " s");
    watch_line();
  }
};

capacity_actor::behavior_type capacity(capacity_state::self_type self, const lifecycle_options& options,
                                       const warm_pool_actor& pool) {
  auto& s = self->state;
  s.self = self;
  s.options = options;
  s.pool = pool;
  return {
      [&s, self](const reserve_slot& x) -> caf::result<slot_answer> {
        answer<slot_answer> to{self};
        s.reserve(x.id, to);
        return to;
      },
      [&s](const account_slot& x) {
        s.used.insert(x.id);
        return s.now();
      },
      [&s](const free_slot& x) { s.give_back(x.id); },
      [&s](victim_available) { s.make_room(); },
      [&s](query_capacity) {
        auto status = s.now();
        return capacity_status{status.used, status.limit, static_cast<std::int32_t>(s.line.size())};
      },
      [&s](const tick& x) {
        if (x.generation == s.generation)
          s.expire();
      },
  };
}

} // namespace

capacity_actor spawn_capacity(caf::actor_system& system, const lifecycle_options& options,
                              const warm_pool_actor& pool) {
  return system.spawn(capacity, options, pool);
}

} // namespace berth
