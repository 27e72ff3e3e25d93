#pragma once
// An actor system prepared for berth, and what tests ask of a node.
#include <boost/test/unit_test.hpp>
#include <caf/io/all.hpp>

#include "runtime/node.hpp"
#include "tests/runtime/scratch.hpp"

namespace berth::test {

using namespace std::chrono_literals;

/// An actor system of its own, as another process would have it.
struct prepared_system {
  struct prepared_config : caf::actor_system_config {
    prepared_config() {
      prepare(*this);
      set("scheduler.max-threads", std::size_t{2});
    }
  };
  prepared_config settings;
  caf::actor_system system{settings};

  /// Asks and waits.
  template <class Reply, class Handle, class Request>
  caf::expected<Reply> ask(const Handle& dest, Request request, std::chrono::milliseconds bound = 20s) {
    caf::scoped_actor self{system};
    caf::expected<Reply> result{make_error(errc::promise_forgotten)};
    self->request(dest, caf::duration{bound}, std::move(request))
        .receive([&](Reply& x) { result = std::move(x); }, [&](caf::error& e) { result = std::move(e); });
    return result;
  }

  /// Waits until an actor has ended.
  template <class Handle>
  bool ends(const Handle& actor, std::chrono::milliseconds bound = 10s) {
    caf::scoped_actor self{system};
    self->monitor(actor);
    auto ended = false;
    self->receive([&](const caf::down_msg&) { ended = true; }, caf::after(bound) >> [] {});
    return ended;
  }
};

/// A configuration whose sandboxes live in a directory of the test, as plain processes.
struct scratch_settings : config {
  scratch_directory directory;
  scratch_settings() {
    sandbox.local.data_dir = directory.path().string();
    sandbox.local.isolation = isolation_mode::none;
#ifdef BERTH_GUEST
    sandbox.local.guest = BERTH_GUEST;
#endif
  }
};

/// A node that must start.
inline std::unique_ptr<node> started(caf::actor_system& system, const config& settings) {
  auto result = node::start(system, settings);
  REQUIRE_VALUE(result);
  return std::move(*result);
}

} // namespace berth::test
