#include "actors/heartbeat.hpp"

#include <unordered_map>

namespace berth {

namespace {

struct heartbeat_state {
  static inline const char* name = "heartbeat";
  std::unordered_map<sandbox_id, sandbox_actor> tracked;
  heartbeat_state() = default;
};

heartbeat_actor::behavior_type heartbeat(self_ptr<heartbeat_actor, heartbeat_state> self,
                                         std::chrono::milliseconds interval) {
  auto& s = self->state;
  self->delayed_send(self, interval, tick{0});
  return {
      [&s](const track& x, const sandbox_actor& handle) { s.tracked[x.id] = handle; },
      [&s](const untrack& x) { s.tracked.erase(x.id); },
      [&s, self, interval](const tick& x) {
        // The next beat is due an interval after this one began, however many there are to remind.
        self->delayed_send(self, interval, tick{x.generation + 1});
        for (const auto& [id, handle] : s.tracked)
          self->send(handle, renew_tick{});
      },
  };
}

} // namespace

heartbeat_actor spawn_heartbeat(caf::actor_system& system, const lifecycle_options& options) {
  return system.spawn(heartbeat, options.renewal_interval);
}

} // namespace berth
