// Shows to the tests, from a process of its own, what a process of berth does: see main.
#include <csignal>
#include <cstring>
#include <iostream>

#include <caf/io/all.hpp>
#include <unistd.h>

#include "runtime/logging.hpp"
#include "runtime/node.hpp"
#include "runtime/signals.hpp"

namespace {

using namespace std::chrono_literals;

// The part of CAF's node id that must tell processes apart, without the process id.
int print_node_id() {
  caf::actor_system_config settings;
  berth::prepare(settings);
  caf::actor_system system{settings};
  const auto id = to_string(system.node());
  std::cout << id.substr(0, id.rfind('#')) << std::endl;
  return 0;
}

// Stops in an orderly way on the first signal (`quick`), or takes for ever over it.
int wait_for_signal(bool quick) {
  berth::signals signals;
  std::cout << "ready" << std::endl;
  std::cout << "stopping on " << signals.wait() << std::endl;
  if (quick)
    return 0;
  for (;;)
    pause();
}

int write_to_nobody() {
  berth::ignore_sigpipe();
  int ends[2];
  if (pipe(ends) != 0)
    return 1;
  close(ends[0]);
  const auto failed = write(ends[1], "x", 1) < 0 && errno == EPIPE;
  std::cout << (failed ? "an error" : "no error") << std::endl;
  return 0;
}

// An actor that dies of an exception and a message that nobody handles: CAF would print both on standard output.
int provoke_caf_output() {
  caf::actor_system_config settings;
  berth::prepare(settings);
  caf::actor_system system{settings};
  berth::divert_caf_output(system, berth::log_level::info);
  auto fragile = system.spawn(
      [](caf::event_based_actor*) -> caf::behavior { return {[](int) { throw std::runtime_error("thrown"); }}; });
  caf::scoped_actor self{system};
  self->monitor(fragile);
  self->send(fragile, std::string{"nobody handles this"});
  self->send(fragile, 1);
  self->receive([](const caf::down_msg&) {});
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "node-id")
    return print_node_id();
  if (what == "signal-quick" || what == "signal-slow")
    return wait_for_signal(what == "signal-quick");
  if (what == "sigpipe")
    return write_to_nobody();
  if (what == "caf-output")
    return provoke_caf_output();
  std::cerr << "usage: runtime_probe node-id|signal-quick|signal-slow|sigpipe|caf-output\n";
  return 2;
}
