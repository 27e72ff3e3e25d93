// Acquire and release on the warm path: provider, sandbox actor, memory store, pool; the backend answers at once.
//
// The floor is a bare CAF request and response between two actors with as many in flight, in the same run: a cycle is
// two of them for its caller, and six more inside (publish, probe, renew and what the pool is told).
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <future>
#include <numeric>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "actors/provider.hpp"
#include "messages/types.hpp"
#include "runtime/node.hpp"
#include "store/memory.hpp"

using namespace berth;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

struct empty_state {
  static inline const char* name = "bench";
  empty_state() = default;
};

// A backend whose sandboxes are numbers: what is left is the cost of berth.
backend_actor::behavior_type instant_backend(self_ptr<backend_actor, empty_state>) {
  return {
      [](const create_sandbox& x) { return instance{x.id, {x.id.value}, x.owner_scope, x.epoch, 0, "default"}; },
      [](const find_sandbox&) { return find_answer{}; },
      [](list_sandboxes) { return inventory{}; },
      [](const probe_sandbox&) { return probe_answer{health::alive}; },
      [](const destroy_sandbox&) { return destroyed{true}; },
      [](const open_sandbox&) -> caf::result<client_actor> { return make_error(errc::unsupported, "bench"); },
      [](backend_query) {
        return backend_info{"instant", "", false, false};
      },
  };
}

using ready = std::shared_ptr<std::promise<void>>;
using scopes = std::shared_ptr<const std::vector<scope>>;

// Keeps `window` cycles in flight until `left` are done; each takes the next scope of its own stride, so that no two
// cycles in flight share one.
struct driver_state {
  static inline const char* name = "driver";
  provider_actor provider;
  scopes all;
  std::size_t window = 1;
  std::size_t started = 0, total = 0, done = 0;
  bool only_park = false;
  ready finished;
  driver_state() = default;
};

void cycle(caf::stateful_actor<driver_state>* self) {
  auto& s = self->state;
  if (s.started == s.total)
    return;
  const auto& who = (*s.all)[s.started++ % s.all->size()];
  const auto failed = [](const caf::error& e) {
    std::fprintf(stderr, "bench: %s\n", explain(e).c_str());
    std::_Exit(1);
  };
  self->request(s.provider, caf::infinite, acquire_sandbox{who})
      .then(
          [self, failed](const acquired& a) {
            self->request(self->state.provider, caf::infinite, release_sandbox{a.id})
                .then(
                    [self](const released&) {
                      auto& st = self->state;
                      if (++st.done == st.total) {
                        st.finished->set_value();
                        self->quit();
                      } else {
                        cycle(self);
                      }
                    },
                    failed);
          },
          failed);
}

caf::behavior driver(caf::stateful_actor<driver_state>* self, provider_actor provider, scopes all, std::size_t window,
                     std::size_t total, ready finished) {
  auto& s = self->state;
  s.provider = std::move(provider);
  s.all = std::move(all);
  s.window = std::min(window, s.all->size());
  s.total = total;
  s.finished = std::move(finished);
  for (std::size_t i = 0; i < s.window; ++i)
    cycle(self);
  return {[](caf::unit_t) {}};
}

double cycles_per_second(caf::actor_system& system, const provider_actor& provider, const std::vector<scope>& all,
                         std::size_t window, std::size_t total) {
  // Two drivers, so that the load is not what is measured.
  std::vector<std::future<void>> ends;
  const auto begin = steady::now();
  const std::size_t drivers = window > 1 ? 2 : 1;
  for (std::size_t d = 0; d < drivers; ++d) {
    auto part = std::make_shared<std::vector<scope>>();
    for (auto i = d; i < all.size(); i += drivers)
      part->push_back(all[i]);
    auto finished = std::make_shared<std::promise<void>>();
    ends.push_back(finished->get_future());
    system.spawn(driver, provider, scopes{part}, window / drivers, total / drivers, finished);
  }
  for (auto& e : ends)
    e.get();
  return static_cast<double>(total) / std::chrono::duration<double>(steady::now() - begin).count();
}

struct echo_state {
  static inline const char* name = "echo";
  std::size_t left = 0, out = 0;
  ready finished;
  echo_state() = default;
};

void ping(caf::stateful_actor<echo_state>* self, const store_actor& to) {
  if (self->state.left == 0)
    return;
  --self->state.left;
  ++self->state.out;
  self->request(to, caf::infinite, store_query{}).then([self, to](const store_info&) {
    if (--self->state.out == 0 && self->state.left == 0) {
      self->state.finished->set_value();
      self->quit();
    } else {
      ping(self, to);
    }
  });
}

double pairs_per_second(caf::actor_system& system, const store_actor& to, std::size_t window, std::size_t total) {
  auto finished = std::make_shared<std::promise<void>>();
  auto end = finished->get_future();
  const auto begin = steady::now();
  system.spawn([=](caf::stateful_actor<echo_state>* self) -> caf::behavior {
    self->state.left = total;
    self->state.finished = finished;
    for (std::size_t i = 0; i < window; ++i)
      ping(self, to);
    return {[](caf::unit_t) {}};
  });
  end.get();
  return static_cast<double>(total) / std::chrono::duration<double>(steady::now() - begin).count();
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::vector<scope> make_scopes(std::size_t n) {
  std::vector<scope> all;
  all.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({"user-" + std::to_string(i), "thread-1"});
  std::shuffle(all.begin(), all.end(), std::mt19937_64{7});
  return all;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

struct bench_config : caf::actor_system_config {
  bench_config() { prepare(*this); }
};

} // namespace

int main() {
  bench_config settings;
  caf::actor_system system{settings};
  lifecycle_options options;
  options.node = {"bench:1"};
  options.replicas = 1'000'000;
  options.idle_timeout = 0s;
  const auto store = spawn_memory_store(system, options.lease_time());
  const auto start = [&] { return spawn_provider(system, options, store, system.spawn(instant_backend)); };
  constexpr std::size_t few = 100, many = 100'000, total = 200'000;
  nlohmann::json result{{"bench", "warm_cycle"}};

  const auto provider = start();
  const auto small = make_scopes(few);
  cycles_per_second(system, provider, small, 64, few);
  for (const std::size_t window : {1UL, 16UL, 64UL}) {
    std::vector<double> rates, floors;
    for (int repeat = 0; repeat < 5; ++repeat) {
      rates.push_back(cycles_per_second(system, provider, small, window, window == 1 ? total / 10 : total));
      floors.push_back(pairs_per_second(system, store, window, total));
    }
    const auto name = std::to_string(window);
    result["cycles_per_s_" + name] = static_cast<std::int64_t>(median(rates));
    result["caf_pairs_per_s_" + name] = static_cast<std::int64_t>(median(floors));
    result["pairs_per_cycle_" + name] = median(floors) / median(rates);
    std::printf("%3zu in flight: %8.0f cycles/s, floor %8.0f CAF pairs/s\n", window, median(rates), median(floors));
  }

  // The same load with a hundred thousand parked sandboxes, and what one of them costs.
  const auto big = make_scopes(many);
  const auto crowded = start();
  const auto before = resident_bytes();
  cycles_per_second(system, crowded, big, 64, many);
  // What stands in the clock for the bounds of these requests is gone once the longest of them is over.
  std::this_thread::sleep_for(options.store_bound + 1s);
  malloc_trim(0);
  const auto per_sandbox = (resident_bytes() - before) / static_cast<std::int64_t>(many);
  const std::vector<scope> subset(big.begin(), big.begin() + few);
  std::vector<double> with_few, same_scopes, all_scopes;
  for (int repeat = 0; repeat < 5; ++repeat) {
    with_few.push_back(cycles_per_second(system, provider, small, 64, total));
    same_scopes.push_back(cycles_per_second(system, crowded, subset, 64, total));
    all_scopes.push_back(cycles_per_second(system, crowded, big, 64, total));
  }
  result["bytes_per_parked_sandbox"] = per_sandbox;
  result["ratio_100000_to_100"] = median(with_few) / median(same_scopes);
  result["ratio_100000_to_100_all_scopes"] = median(with_few) / median(all_scopes);
  std::printf("%zu parked: %lld bytes each\n", many, static_cast<long long>(per_sandbox));
  std::printf("100 scopes: %8.0f cycles/s among 100, %8.0f among 100,000; over all 100,000 scopes: %8.0f\n",
              median(with_few), median(same_scopes), median(all_scopes));
  std::printf("%s\n", result.dump().c_str());
  std::fflush(stdout);
  std::_Exit(0); // a hundred thousand actors need no orderly end
}
