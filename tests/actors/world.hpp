#pragma once
// A deterministic world for actor tests: one thread, virtual time, a backend whose containers take time to start and to
// stop, and a store that can be cut off.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "actors/provider.hpp"
#include "messages/types.hpp"
#include "store/memory.hpp"

namespace berth::test {

using namespace std::chrono_literals;

/// The containers of a world and how its backend behaves. Shared by the test and its actors, all on one thread.
struct containers {
  std::map<std::string, instance> running; // by instance id
  std::vector<std::string> created, destroyed;
  std::chrono::milliseconds create_time{10}, stop_time{10}, answer_time{1};
  int fail_creates = 0; // the next so many
  int fail_stops = 0;
  bool probes_unknown = false;
  bool silent = false;        // answers nothing at all
  bool deaf_commands = false; // commands do not end when told
  std::size_t most_at_once = 0;
  std::map<std::string, int> running_commands; // by instance id
};

/// Runs closures at a later virtual time inside an actor.
template <class Self>
class agenda {
public:
  void at(Self self, std::chrono::milliseconds delay, std::function<void()> what) {
    const auto n = next_++;
    todo_.emplace(n, std::move(what));
    self->delayed_send(self, delay, tick{n});
  }
  void run(std::uint64_t n) {
    if (auto node = todo_.extract(n))
      node.mapped()();
  }

private:
  std::map<std::uint64_t, std::function<void()>> todo_;
  std::uint64_t next_ = 0;
};

using timed_client = client_actor::extend<caf::reacts_to<tick>>;
using timed_backend = backend_actor::extend<caf::reacts_to<tick>>;

struct fake_client_state {
  agenda<self_ptr<timed_client, fake_client_state>> later;
  std::map<std::string, std::string> files;
  std::vector<answer<executed>> commands;
  static inline const char* name = "fake_client";
  fake_client_state() = default;
};

/// `sleep MS` ends after so many virtual milliseconds; stop_commands ends all at once.
inline timed_client::behavior_type fake_client(self_ptr<timed_client, fake_client_state> self,
                                               std::shared_ptr<containers> world, std::string instance) {
  auto& s = self->state;
  return {
      [&s, self, world, instance](const execute& x) -> caf::result<executed> {
        answer<executed> to{self};
        s.commands.push_back(to);
        ++world->running_commands[instance];
        const auto ms = x.command.starts_with("sleep ") ? std::stol(x.command.substr(6)) : 0;
        s.later.at(self, std::chrono::milliseconds{ms}, [world, instance, to] {
          if (to.open())
            --world->running_commands[instance];
          to.ok(executed{});
        });
        return to;
      },
      [&s](const read_file& x) -> caf::result<file_content> {
        if (!s.files.contains(x.path))
          return make_error(errc::path_missing, x.path);
        return file_content{{s.files[x.path]}};
      },
      [&s](const write_file& x) -> caf::result<file_written> {
        s.files[x.path] = x.content.data;
        return file_written{static_cast<std::int64_t>(x.content.data.size())};
      },
      [](const update_file&) -> caf::result<file_written> { return make_error(errc::unsupported); },
      [](const download_file&) -> caf::result<file_content> { return make_error(errc::unsupported); },
      [](const list_dir&) -> caf::result<dir_listing> { return dir_listing{}; },
      [](const glob_files&) -> caf::result<glob_answer> { return glob_answer{}; },
      [](const grep_files&) -> caf::result<grep_answer> { return grep_answer{}; },
      [&s, world, instance](const stop_commands&) -> caf::result<commands_stopped> {
        commands_stopped told;
        if (world->deaf_commands)
          return told;
        for (auto& c : s.commands)
          if (c.open()) {
            ++told.count;
            --world->running_commands[instance];
            executed e;
            e.status = {exit_kind::cancelled, 15};
            c.ok(e);
          }
        return told;
      },
      [](const list_commands&) -> caf::result<command_list> { return command_list{}; },
      [&s](const tick& x) { s.later.run(x.generation); },
  };
}

struct fake_backend_state {
  using self_type = self_ptr<timed_backend, fake_backend_state>;
  agenda<self_type> later;
  std::vector<std::shared_ptr<void>> unanswered; // keeps promises alive that nobody will fulfil
  int made = 0;
  static inline const char* name = "fake_backend";
  fake_backend_state() = default;
};

inline timed_backend::behavior_type fake_backend(fake_backend_state::self_type self, std::shared_ptr<containers> world,
                                                 std::string node) {
  auto& s = self->state;
  const auto after = [&s, self, world](std::chrono::milliseconds delay, auto to, auto what) {
    s.later.at(self, delay, [&s, world, to, what] {
      if (world->silent)
        s.unanswered.push_back(std::make_shared<decltype(to)>(to));
      else
        what(to);
    });
    return to;
  };
  return {
      [=, &s](const create_sandbox& x) -> caf::result<instance> {
        const auto unique = "i-" + node + "-" + std::to_string(++s.made);
        return after(world->create_time, answer<instance>{self}, [world, x, unique](const answer<instance>& to) {
          if (world->fail_creates > 0) {
            --world->fail_creates;
            return to.fail(make_error(errc::backend_failure, "told to fail"));
          }
          const instance made{x.id, {unique}, x.owner_scope, x.epoch, 0, "default"};
          world->running.emplace(unique, made);
          world->created.push_back(unique);
          world->most_at_once = std::max(world->most_at_once, world->running.size());
          to.ok(made);
        });
      },
      [=](const find_sandbox& x) -> caf::result<find_answer> {
        return after(world->answer_time, answer<find_answer>{self}, [world, x](const answer<find_answer>& to) {
          find_answer found;
          for (const auto& [unique, i] : world->running)
            if (i.id == x.id)
              found.found.push_back(i);
          to.ok(found);
        });
      },
      [=](list_sandboxes) -> caf::result<inventory> {
        return after(world->answer_time, answer<inventory>{self}, [world](const answer<inventory>& to) {
          inventory all{true, {}};
          for (const auto& [unique, i] : world->running)
            all.instances.push_back(i);
          to.ok(all);
        });
      },
      [=](const probe_sandbox& x) -> caf::result<probe_answer> {
        return after(world->answer_time, answer<probe_answer>{self}, [world, x](const answer<probe_answer>& to) {
          if (world->probes_unknown)
            return to.fail(make_error(errc::backend_unknown, "told not to know"));
          to.ok(probe_answer{world->running.contains(x.instance.value) ? health::alive : health::dead});
        });
      },
      [=](const destroy_sandbox& x) -> caf::result<destroyed> {
        return after(world->stop_time, answer<destroyed>{self}, [world, x](const answer<destroyed>& to) {
          if (world->fail_stops > 0) {
            --world->fail_stops;
            return to.fail(make_error(errc::backend_failure, "told to fail"));
          }
          auto existed = world->running.erase(x.instance.value) > 0;
          if (x.instance.empty())
            existed = std::erase_if(world->running,
                                    [&x](const auto& r) { return r.second.id == x.id && r.second.epoch == x.epoch; })
                      > 0;
          if (existed)
            world->destroyed.push_back(x.instance.value);
          to.ok(berth::destroyed{existed});
        });
      },
      [=](const open_sandbox& x) -> caf::result<client_actor> {
        return client_actor{self->spawn(fake_client, world, x.instance.value)};
      },
      [](backend_query) {
        return backend_info{"fake", "", true, false};
      },
      [&s](const tick& x) { s.later.run(x.generation); },
  };
}

/// Passes lease requests on, unless it is told to be out of order.
struct store_gate {
  bool down = false;   ///< answers store_unavailable
  bool silent = false; ///< answers nothing
  bool cross_process = false;
  std::int64_t lease_time_ms = 120'000;
  std::map<std::string, int> seen; ///< requests by kind
};

struct gate_state {
  std::vector<answer<lease_answer>> unanswered;
  static inline const char* name = "store_gate";
  gate_state() = default;
};

inline store_actor::behavior_type gated_store(self_ptr<store_actor, gate_state> self, store_actor inner,
                                              std::shared_ptr<store_gate> gate) {
  const auto pass = [self, inner, gate](const char* kind, const auto& x) -> caf::result<lease_answer> {
    ++gate->seen[kind];
    if (gate->silent) {
      answer<lease_answer> to{self};
      self->state.unanswered.push_back(to);
      return to;
    }
    if (gate->down)
      return make_error(errc::store_unavailable, "told to be down");
    return self->delegate(inner, x);
  };
  return {
      [pass](const take_lease& x) { return pass("take", x); },
      [pass](const claim_lease& x) { return pass(x.for_destroy ? "claim_destroy" : "claim", x); },
      [pass](const renew_lease& x) { return pass("renew", x); },
      [pass](const release_lease& x) { return pass("release", x); },
      [self, inner, gate](const query_lease& x) -> caf::result<lease_view> {
        ++gate->seen["query"];
        if (gate->down || gate->silent)
          return make_error(errc::store_unavailable, "told to be down");
        return self->delegate(inner, x);
      },
      [gate](store_query) {
        return store_info{"gated", gate->cross_process, gate->lease_time_ms};
      },
  };
}

/// An actor system under a virtual clock, with a way to ask and to let time pass.
class virtual_world {
public:
  struct settings : caf::actor_system_config {
    settings() {
      add_messages(*this);
      set("scheduler.policy", caf::atom("testing"));
      set("logger.verbosity", caf::atom("quiet"));
    }
  };

  settings config;
  caf::actor_system system{config};
  std::shared_ptr<containers> world = std::make_shared<containers>();
  std::shared_ptr<store_gate> gate = std::make_shared<store_gate>();
  lifecycle_options options;
  store_actor leases;
  store_actor store;
  backend_actor backend;
  provider_actor provider;

  virtual_world() {
    system.await_actors_before_shutdown(false);
    options.node = {"host:one"};
    scheduler().advance_time(1s); // no moment of interest is the clock's zero
    leases = spawn_memory_store(system, options.lease_time());
    store = system.spawn(gated_store, leases, gate);
  }

  ~virtual_world() {
    // All of them: one that keeps a promise on purpose would keep whoever waits for it alive, and the other way round.
    kill(provider);
    kill(backend);
    kill(store);
    kill(leases);
    settle();
    scheduler().clock().cancel_all();
  }

  /// Starts the node under test with the options as they are now.
  void start() {
    backend = caf::actor_cast<backend_actor>(system.spawn(fake_backend, world, std::string{"a"}));
    provider = spawn_provider(system, options, store, backend);
    settle();
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  /// Runs every actor that has something to do, without letting time pass.
  void settle() { scheduler().run(); }

  /// Lets virtual time pass, timer by timer.
  void pass(std::chrono::milliseconds span) {
    const auto until = scheduler().clock().now() + span;
    settle();
    while (scheduler().clock().now() < until) {
      const auto& timers = scheduler().clock().schedule();
      const auto next = timers.empty() ? until : std::min(until, timers.begin()->first);
      scheduler().advance_time(std::max(next - scheduler().clock().now(), caf::actor_clock::duration_type{1}));
      settle();
    }
  }

  /// A reply that has arrived or not yet.
  template <class T>
  struct pending {
    std::shared_ptr<std::optional<caf::expected<T>>> slot = std::make_shared<std::optional<caf::expected<T>>>();
    [[nodiscard]] bool ready() const { return slot->has_value(); }
    [[nodiscard]] bool ok() const { return ready() && static_cast<bool>(**slot); }
    [[nodiscard]] const T& value() const { return ***slot; }
    [[nodiscard]] errc code() const { return ready() ? (ok() ? errc::none : code_of((*slot)->error())) : errc::none; }
    [[nodiscard]] std::string text() const { return ready() && !ok() ? explain((*slot)->error()) : ""; }
  };

  /// Sends a request from an actor of its own; nothing runs before settle() or pass().
  template <class T, class Handle, class Request>
  pending<T> send(const Handle& to, Request request) {
    pending<T> result;
    system.spawn([slot = result.slot, to, request](caf::event_based_actor* self) {
      self->request(to, caf::infinite, request)
          .then([slot](const T& x) { slot->emplace(x); }, [slot](const caf::error& e) { slot->emplace(e); });
    });
    return result;
  }

  /// Sends and lets time pass until the answer is there, at most `span`.
  template <class T, class Handle, class Request>
  pending<T> ask(const Handle& to, Request request, std::chrono::milliseconds span = 60s) {
    auto result = send<T>(to, std::move(request));
    settle();
    for (auto left = span; !result.ready() && left > 0ms; left -= 1ms)
      pass(1ms);
    return result;
  }

  pending<acquired> acquire(const std::string& user, const std::string& thread = "t") {
    return ask<acquired>(provider, acquire_sandbox{{user, thread}});
  }
  pending<released> release(const sandbox_id& id) { return ask<released>(provider, release_sandbox{id}); }

  sandbox_status status_of(const sandbox_id& id) {
    const auto all = ask<tracked_list>(provider, list_tracked{});
    for (const auto& s : all.value().sandboxes)
      if (s.id == id)
        return s;
    return {};
  }
  node_status node() { return ask<node_status>(provider, query_node{}).value(); }

  lease_view lease_of(const sandbox_id& id) { return ask<lease_view>(leases, query_lease{id}).value(); }

private:
  template <class Handle>
  static void kill(const Handle& actor) {
    if (actor)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
};

} // namespace berth::test
