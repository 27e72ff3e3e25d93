#include "store/memory.hpp"

#include <unordered_map>

namespace berth {

namespace {

struct memory_state {
  using time_point = caf::actor_clock::time_point;

  struct lease {
    lease_state state = lease_state::absent;
    node_id owner;
    fencing_epoch epoch;
    time_point expires;
  };

  static inline const char* name = "memory_store";

  std::chrono::milliseconds lease_time{0};
  std::uint64_t last_epoch = 0;
  std::unordered_map<sandbox_id, lease> leases;
  std::size_t sweep_at = 1024;

  memory_state() = default;

  lease* find(const sandbox_id& id, time_point now) {
    const auto i = leases.find(id);
    if (i == leases.end())
      return nullptr;
    if (now < i->second.expires)
      return &i->second;
    leases.erase(i); // at its deadline a lease is absent
    return nullptr;
  }

  static lease_answer say(lease_outcome outcome, const lease* current) {
    if (current == nullptr)
      return {outcome, lease_state::absent, {}, {}};
    return {outcome, current->state, current->owner, current->epoch};
  }

  lease_answer grant(const sandbox_id& id, const node_id& owner, lease_state state, time_point now) {
    sweep(now);
    auto& entry = leases[id];
    if (entry.owner != owner)
      entry.epoch = {++last_epoch};
    entry.state = state;
    entry.owner = owner;
    entry.expires = now + lease_time;
    return say(lease_outcome::granted, &entry);
  }

  lease_answer take(const take_lease& x, time_point now) {
    const auto* current = find(x.id, now);
    if (current != nullptr && current->state == lease_state::destroying)
      return say(lease_outcome::refused, current);
    return grant(x.id, x.owner, lease_state::owned, now);
  }

  lease_answer claim(const claim_lease& x, time_point now) {
    const auto* current = find(x.id, now);
    const auto ours = current != nullptr && current->owner == x.owner;
    // Our own teardown is not downgraded: a take would be let through while the stop is on its way (spec R5).
    const auto downgrade = ours && current->state == lease_state::destroying && !x.for_destroy;
    if ((current != nullptr && !ours) || downgrade)
      return say(lease_outcome::refused, current);
    return grant(x.id, x.owner, x.for_destroy ? lease_state::destroying : lease_state::owned, now);
  }

  lease_answer renew(const renew_lease& x, time_point now) {
    auto* current = find(x.id, now);
    if (current == nullptr)
      return say(lease_outcome::lapsed, nullptr);
    if (current->owner != x.owner || current->state != lease_state::owned)
      return say(lease_outcome::lost, current);
    current->expires = now + lease_time;
    return say(lease_outcome::renewed, current);
  }

  lease_answer release(const release_lease& x, time_point now) {
    const auto* current = find(x.id, now);
    if (current == nullptr || current->owner != x.owner)
      return say(lease_outcome::unchanged, current);
    leases.erase(x.id);
    return say(lease_outcome::released, nullptr);
  }

  /// Leases that nobody asks about again would stay for ever; the cost is spread over the grants in between.
  void sweep(time_point now) {
    if (leases.size() < sweep_at)
      return;
    std::erase_if(leases, [now](const auto& entry) { return entry.second.expires <= now; });
    sweep_at = std::max<std::size_t>(1024, leases.size() * 2);
  }
};

store_actor::behavior_type memory_store(self_ptr<store_actor, memory_state> self, std::chrono::milliseconds lease_time,
                                        std::uint64_t first_epoch) {
  auto& state = self->state;
  state.lease_time = lease_time;
  state.last_epoch = first_epoch > 0 ? first_epoch - 1 : 0;
  const auto now = [self] { return self->clock().now(); };
  return {
      [&state, now](const take_lease& x) { return state.take(x, now()); },
      [&state, now](const claim_lease& x) { return state.claim(x, now()); },
      [&state, now](const renew_lease& x) { return state.renew(x, now()); },
      [&state, now](const release_lease& x) { return state.release(x, now()); },
      [&state, now](const query_lease& x) {
        const auto* current = state.find(x.id, now());
        return current != nullptr ? lease_view{current->state, current->owner, current->epoch} : lease_view{};
      },
      [&state](store_query) {
        return store_info{"memory", false, state.lease_time.count()};
      },
  };
}

} // namespace

store_actor spawn_memory_store(caf::actor_system& system, std::chrono::milliseconds lease_time,
                               std::uint64_t first_epoch) {
  return system.spawn(memory_store, lease_time, first_epoch);
}

} // namespace berth
