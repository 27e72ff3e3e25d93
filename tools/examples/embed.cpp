// A host process that runs a berth node in its own actor system: acquire, execute, read, release, stop.
#include <iostream>

#include "runtime/logging.hpp"
#include "runtime/node.hpp"

namespace {

// Asks an actor and waits for its answer, at most a minute.
template <class Reply, class Actor, class Request>
Reply ask(caf::scoped_actor& self, const Actor& actor, Request request) {
  Reply result;
  self->request(actor, std::chrono::minutes{1}, std::move(request))
      .receive([&](Reply& x) { result = std::move(x); },
               [&](caf::error& e) { throw std::runtime_error{berth::explain(e)}; });
  return result;
}

void work_in_a_sandbox(caf::actor_system& system, const berth::config& settings) {
  auto node = berth::node::start(system, settings);
  if (!node)
    throw std::runtime_error{berth::explain(node.error())};
  const auto provider = (*node)->provider();
  caf::scoped_actor self{system};

  const auto lease = ask<berth::acquired>(self, provider, berth::acquire_sandbox{{"alice", "chat-1"}});
  const auto sandbox = ask<berth::sandbox_actor>(self, provider, berth::get_sandbox{lease.id});
  berth::execute command;
  command.command = "echo $((6 * 7)) | tee /mnt/user-data/workspace/answer";
  const auto done = ask<berth::executed>(self, sandbox, command);
  const auto file =
      ask<berth::file_content>(self, sandbox, berth::read_file{"/mnt/user-data/workspace/answer", {}, {}});
  const auto parked = ask<berth::released>(self, provider, berth::release_sandbox{lease.id});
  std::cout << "exit status " << done.status.code << ", printed " << done.out.data << "the file holds "
            << file.data.data << "released, now " << to_string(parked.state) << "\n";

  const auto report = (*node)->stop(std::chrono::seconds{10});
  std::cout << "stopped, sandboxes closed: " << report.closed << ", left: " << report.left.size() << "\n";
}

} // namespace

int main() {
  caf::actor_system_config host;
  berth::prepare(host); // what berth needs of an actor system; the rest is the host's own
  caf::actor_system system{host};
  const auto file = berth::default_config_path(); // $BERTH_CONFIG
  const auto settings = file ? berth::load_config(*file) : berth::default_config();
  if (!settings) {
    std::cerr << berth::explain(settings.error()) << "\n";
    return 1;
  }
  try {
    if (const auto e = berth::start_logging(settings->log, berth::make_redactor(*settings))) // or use the host's spdlog
      throw std::runtime_error{berth::explain(e)};
    work_in_a_sandbox(system, *settings);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
