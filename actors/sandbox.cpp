#include "actors/sandbox.hpp"

#include "actors/sandbox_machine.hpp"
#include "messages/log.hpp"

namespace berth {

namespace {

using namespace std::chrono_literals;

// Added to the bound of an operation: the client keeps its own limits, this one only catches a client that is silent.
constexpr auto slack = 15s;
// Between the kill of the last command and its answer.
constexpr auto drain_slack = 3s;
// The longest time-out a command may ask for: a year.
constexpr std::int64_t max_timeout_ms = 31'536'000'000;
// File operations have no limit of their own; 100 MiB over a slow link is the longest of them.
constexpr auto file_bound = 300s;

struct sandbox_state_data : sandbox_port {
  using self_type = self_ptr<sandbox_actor, sandbox_state_data>;

  static inline const char* name = "sandbox";

  self_type self = nullptr;
  std::shared_ptr<const sandbox_peers> peers;
  // Weak: the provider holds its sandboxes, not the other way round.
  caf::actor_addr provider;
  std::shared_ptr<sandbox_machine> machine; // shared with nobody; operations watch it weakly
  client_actor client;
  std::vector<std::function<void(caf::error)>> opening; // operations that wait for the client
  std::uint64_t seen = 0;                               // requests forwarded by the provider so far
  bool opening_client = false;
  std::uint64_t client_generation = 0;

  sandbox_state_data() = default;
  sandbox_state_data(const sandbox_state_data&) = delete;
  sandbox_state_data& operator=(const sandbox_state_data&) = delete;
  // First of all: operations that end because we do must find no machine to report to.
  ~sandbox_state_data() override { machine.reset(); }

  sandbox_machine& m() { return *machine; }
  const lifecycle_options& options() const { return peers->options; }
  sandbox_actor handle() { return caf::actor_cast<sandbox_actor>(self); }

  // -- the port --------------------------------------------------------------------------------------------------------

  std::int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(self->clock().now().time_since_epoch()).count();
  }

  void ask_take(step_number n) override { ask_lease(n, take_lease{m().id(), options().node}); }

  void ask_claim(step_number n, bool for_destroy) override {
    ask_lease(n, claim_lease{m().id(), options().node, for_destroy});
  }

  template <class Request>
  void ask_lease(step_number n, Request request) {
    ask(
        self, peers->store, options().store_bound, std::move(request),
        [this, n](const lease_answer& a) {
          m().on_lease(n, a.outcome == lease_outcome::granted ? event::granted : event::refused, a);
        },
        [this, n](const caf::error& e) {
          log::warn("store: lease of " + m().id().value + ": " + explain(e));
          m().on_lease(n, event::unanswered);
        });
  }

  void ask_release_lease(step_number n) override {
    ask(
        self, peers->store, options().store_bound, release_lease{m().id(), options().node},
        [this, n](const lease_answer&) { m().on_answer(n, event::unmarked); },
        [this, n](const caf::error& e) {
          log::warn("store: release of " + m().id().value + ": " + explain(e) + "; its time will clear it");
          m().on_answer(n, event::unmarked);
        });
  }

  void ask_renew() override {
    ask(
        self, peers->store, options().store_bound, renew_lease{m().id(), options().node},
        [this](const lease_answer& a) {
          m().on_renewal(a.outcome == lease_outcome::renewed  ? event::renewed
                         : a.outcome == lease_outcome::lapsed ? event::lapsed
                                                              : event::lost,
                         a);
        },
        [this](const caf::error&) { m().on_renewal(event::renew_unanswered); });
  }

  void ask_reclaim() override {
    ask(
        self, peers->store, options().store_bound, claim_lease{m().id(), options().node, false},
        [this](const lease_answer& a) {
          m().on_renewal(a.outcome == lease_outcome::granted ? event::renewed : event::lost, a);
        },
        [this](const caf::error&) { m().on_renewal(event::renew_unanswered); });
  }

  void ask_beat() override {
    ask(
        self, peers->store, options().store_bound, claim_lease{m().id(), options().node, true},
        [this](const lease_answer& a) {
          m().on_beat_answer(a.outcome == lease_outcome::granted ? event::granted : event::refused);
        },
        [this](const caf::error& e) {
          log::warn("store: teardown marker of " + m().id().value + ": " + explain(e));
          m().on_beat_answer(event::unanswered);
        });
  }

  void schedule_beat() override { self->delayed_send(self, options().renewal_interval, tick{m().current_step()}); }

  void ask_find(step_number n) override {
    ask(
        self, peers->backend, options().probe_bound, find_sandbox{m().id()},
        [this, n](const find_answer& a) {
          if (a.found.empty() || a.found.front().fleet != options().fleet)
            m().on_answer(n, event::not_found);
          else
            m().on_found(n, a.found.front());
        },
        [this, n](const caf::error& e) {
          log::warn("discovery of " + m().id().value + ": " + explain(e) + "; it is not adoptable");
          m().on_answer(n, event::not_found);
        });
  }

  void ask_probe(step_number n, const instance_id& which) override {
    ask(
        self, peers->backend, options().probe_bound, probe_sandbox{m().id(), which},
        [this, n](const probe_answer& a) { m().on_answer(n, a.state == health::dead ? event::dead : event::alive); },
        [this, n](const caf::error& e) {
          log::warn("probe of " + m().id().value + ": " + explain(e) + "; unknown is not dead, keeping it");
          m().on_answer(n, event::alive);
        });
  }

  void ask_create(step_number n, fencing_epoch epoch) override {
    ask(
        self, peers->backend, options().create_bound, create_sandbox{m().id(), m().status().owner_scope, epoch},
        [this, n](const instance& made) { m().on_created(n, made); },
        [this, n](const caf::error& e) {
          m().on_answer(n, code_of(e) == errc::timed_out ? event::create_unknown : event::create_failed, e);
        });
  }

  void ask_destroy(step_number n, const instance_id& which, fencing_epoch epoch) override {
    ask(
        self, peers->backend, options().stop_bound, destroy_sandbox{m().id(), which, epoch},
        [this, n](const destroyed&) { m().on_answer(n, event::stopped); },
        [this, n](const caf::error& e) { m().on_answer(n, event::stop_failed, e); });
  }

  void ask_slot(step_number n, bool exists) override {
    // Capacity keeps the time of its waiters itself; this bound only catches its silence.
    const auto bound = options().acquire_timeout + options().stop_bound + slack;
    const auto yes = [this, n](const slot_answer&) { m().on_answer(n, event::slot); };
    const auto no = [this, n](const caf::error& e) { m().on_answer(n, event::no_slot, e); };
    if (exists)
      ask(self, peers->capacity, bound, account_slot{m().id()}, yes, no);
    else
      ask(self, peers->capacity, bound, reserve_slot{m().id()}, yes, no);
  }

  void free_slot() override { self->send(peers->capacity, berth::free_slot{m().id()}); }

  void drain() override {
    if (!client)
      return close_client(); // what waits for a client has not begun
    const auto grace = options().release_grace;
    ask(
        self, client, grace + slack, stop_commands{{}, grace.count()}, [](const commands_stopped&) {},
        [](const caf::error&) {});
    self->delayed_send(self, grace + drain_slack, tick{m().current_step()});
  }

  // A reminder of the step that set it: a teardown claims its marker again, a parking ends what did not end when told.
  void remind(const tick& x) {
    if (x.generation != m().current_step())
      return;
    if (m().state() == sandbox_state::parking)
      close_client();
    else
      m().on_beat();
  }

  void close_client() override {
    if (client)
      self->send_exit(client, caf::exit_reason::user_shutdown);
    client = nullptr;
    opening_client = false;
    ++client_generation;
    fail_opening(make_error(errc::sandbox_not_active, "sandbox " + m().id().value + " was closed meanwhile"));
  }

  void tell_parked(std::int64_t at_ns) override { self->send(peers->pool, parked{m().id(), at_ns}, handle()); }
  void tell_unparked() override { self->send(peers->pool, unparked{m().id()}, handle()); }
  void tell_departed() override { self->send(peers->pool, departed{m().id()}); }

  void tell_retired() override {
    if (auto p = caf::actor_cast<provider_actor>(provider))
      self->send(p, retired{m().id(), seen});
  }

  // The provider keeps an actor that it has sent something to since `retired`: tell it that this came to nothing.
  void retire_again() {
    if (m().state() == sandbox_state::absent)
      tell_retired();
  }

  void visited(sandbox_state from, event what, sandbox_state to) override {
    if (peers->log_transitions)
      log::debug("sandbox " + m().id().value + ": " + to_string(from) + " -" + to_string(what) + "-> " + to_string(to));
  }

  void complain(const std::string& what) override { log::warn("sandbox " + m().id().value + ": " + what); }

  // -- operations ------------------------------------------------------------------------------------------------------

  void fail_opening(const caf::error& reason) {
    for (auto& f : std::exchange(opening, {}))
      f(reason);
  }

  // Calls `then` with no error once the client is open. Opened by the first operation, so that a warm acquire that is
  // never used costs nothing.
  void with_client(std::function<void(caf::error)> then) {
    if (client)
      return then({});
    opening.push_back(std::move(then));
    if (std::exchange(opening_client, true))
      return;
    const auto generation = client_generation;
    const auto here = [this, generation] { return generation == client_generation; };
    ask(
        self, peers->backend, options().probe_bound, open_sandbox{m().id(), m().current_instance()},
        [this, here](const client_actor& opened) {
          if (!here()) {
            self->send_exit(opened, caf::exit_reason::user_shutdown);
            return;
          }
          opening_client = false;
          client = opened;
          for (auto& f : std::exchange(opening, {}))
            f({});
        },
        [this, here](const caf::error& e) {
          if (!here())
            return;
          opening_client = false;
          fail_opening(e);
        });
  }

  template <class Reply, class Request>
  answer<Reply> operate(const Request& request, std::chrono::milliseconds bound) {
    answer<Reply> to{self};
    if (auto refusal = m().begin_operation()) {
      to.fail(std::move(refusal));
      return to;
    }
    // Counted out when the last copy goes, on whatever path.
    const auto counted = std::shared_ptr<void>(nullptr, [watch = std::weak_ptr{machine}](void*) {
      if (const auto alive = watch.lock())
        alive->end_operation();
    });
    with_client([this, to, request, bound, counted](caf::error e) {
      if (e)
        return to.fail(std::move(e));
      ask(
          self, client, bound, request, [to, counted](const Reply& reply) { to.ok(reply); },
          [this, to, counted](const caf::error& why) {
            // A client that was closed under the operation drops its promise: that is our doing, not a defect.
            to.fail(code_of(why) == errc::promise_forgotten
                        ? make_error(errc::cancelled, "sandbox " + m().id().value + " was released or closed meanwhile")
                        : why);
          });
    });
    return to;
  }

  answer<executed> run(const execute& request) {
    if (request.timeout_ms && (*request.timeout_ms < 1 || *request.timeout_ms > max_timeout_ms)) {
      answer<executed> to{self};
      to.fail(make_error(errc::invalid_argument, "timeout: " + std::to_string(*request.timeout_ms)
                                                     + " ms is not between 1 and " + std::to_string(max_timeout_ms)));
      return to;
    }
    const auto limit =
        request.timeout_ms ? std::chrono::milliseconds{*request.timeout_ms} : options().default_command_timeout;
    return operate<executed>(request, limit + slack);
  }
};

sandbox_actor::behavior_type sandbox(self_ptr<sandbox_actor, sandbox_state_data> self,
                                     std::shared_ptr<const sandbox_peers> peers, const caf::actor_addr& provider,
                                     sandbox_id id) {
  auto& s = self->state;
  s.self = self;
  s.peers = std::move(peers);
  s.provider = provider;
  s.machine = std::make_shared<sandbox_machine>(s, std::move(id));
  self->set_exit_handler([self](caf::exit_msg& e) {
    self->state.m().abandon(make_error(errc::shutting_down));
    self->state.close_client();
    self->quit(std::move(e.reason));
  });
  return {
      [&s](const execute& x) -> caf::result<executed> { return s.run(x); },
      [&s](const read_file& x) -> caf::result<file_content> { return s.operate<file_content>(x, file_bound); },
      [&s](const write_file& x) -> caf::result<file_written> { return s.operate<file_written>(x, file_bound); },
      [&s](const update_file& x) -> caf::result<file_written> { return s.operate<file_written>(x, file_bound); },
      [&s](const download_file& x) -> caf::result<file_content> { return s.operate<file_content>(x, file_bound); },
      [&s](const list_dir& x) -> caf::result<dir_listing> { return s.operate<dir_listing>(x, file_bound); },
      [&s](const glob_files& x) -> caf::result<glob_answer> { return s.operate<glob_answer>(x, file_bound); },
      [&s](const grep_files& x) -> caf::result<grep_answer> { return s.operate<grep_answer>(x, file_bound); },
      [&s](const stop_commands& x) -> caf::result<commands_stopped> {
        return s.operate<commands_stopped>(x, std::chrono::milliseconds{std::max<std::int64_t>(x.grace_ms, 0)} + slack);
      },
      [&s](const list_commands& x) -> caf::result<command_list> { return s.operate<command_list>(x, slack); },
      [&s, self](const acquire_sandbox& x) -> caf::result<acquired> {
        ++s.seen;
        answer<acquired> to{self};
        s.m().acquire(x.owner_scope, to);
        return to;
      },
      [&s, self](const release_sandbox&) -> caf::result<released> {
        ++s.seen;
        answer<released> to{self};
        s.m().release(to);
        s.retire_again();
        return to;
      },
      [&s, self](const close_sandbox& x) -> caf::result<close_answer> {
        ++s.seen;
        answer<close_answer> to{self};
        s.m().close(x.reason, to);
        s.retire_again();
        return to;
      },
      [&s, self](const reap& x) -> caf::result<close_answer> {
        answer<close_answer> to{self};
        s.m().reap(x.parked_at_ns, x.reason, to);
        return to;
      },
      [&s](const reap_idle& x) { s.m().reap_idle(x.idle_limit_ms * 1'000'000); },
      [&s, self](const adopt_sandbox& x) -> caf::result<adopt_answer> {
        ++s.seen;
        answer<adopt_answer> to{self};
        s.m().adopt(x.found, to);
        return to;
      },
      [&s](query_status) { return s.m().status(); },
      [&s](renew_tick) { s.m().renew_tick(); },
      [&s, self](const retire& x) {
        // Only when nothing has reached us since the provider decided; otherwise we are in use again.
        if (s.m().state() == sandbox_state::absent && s.seen == x.acquires)
          self->quit();
      },
      [&s](const tick& x) { s.remind(x); },
  };
}

} // namespace

sandbox_actor spawn_sandbox(caf::actor_system& system, std::shared_ptr<const sandbox_peers> peers,
                            const provider_actor& provider, sandbox_id id) {
  return system.spawn(sandbox, std::move(peers), caf::actor_cast<caf::actor_addr>(provider), std::move(id));
}

} // namespace berth
