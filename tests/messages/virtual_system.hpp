#pragma once
// An actor system that runs in the test's own thread on a virtual clock: nothing moves unless a test moves it.
#include <chrono>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "messages/types.hpp"

namespace berth::test {

struct virtual_config : caf::actor_system_config {
  virtual_config() {
    set("scheduler.policy", caf::atom("testing"));
    set("logger.verbosity", caf::atom("quiet"));
    add_messages(*this);
  }
};

struct virtual_system {
  virtual_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());

  /// A test that fails must not wait for its actors.
  virtual_system() { system.await_actors_before_shutdown(false); }

  /// Runs whatever is ready; time stands still.
  void settle() {
    while (scheduler.try_run_once()) {
    }
  }

  /// Lets time pass, firing what falls due, and runs what that makes ready.
  void pass(std::chrono::milliseconds time) {
    settle();
    scheduler.advance_time(time);
    settle();
  }

  /// The number of timeouts and delayed messages that wait in the clock.
  std::size_t clock_entries() { return scheduler.clock().schedule().size(); }

  template <class Handle>
  void end(const Handle& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    settle();
  }
};

} // namespace berth::test
