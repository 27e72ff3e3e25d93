#include <caf/io/all.hpp>
#include <iostream>

#include "runtime/node.hpp"

int main(int, char** argv) {
  caf::actor_system_config cfg;
  berth::prepare(cfg);
  caf::actor_system system{cfg};
  auto settings = berth::default_config();
  settings.sandbox.local.data_dir = argv[1];
  settings.sandbox.local.isolation = berth::isolation_mode::none;
  settings.sandbox.local.guest = GUEST;
  auto node = berth::node::start(system, settings);
  if (!node) {
    std::cout << berth::explain(node.error()) << std::endl;
    return 1;
  }
  caf::scoped_actor self{system};
  self->request((*node)->provider(), std::chrono::seconds{20}, berth::acquire_sandbox{{"ann", "t1"}})
      .receive([](const berth::acquired& x) { std::cout << "acquired " << x.id.value << std::endl; },
               [](const caf::error& e) { std::cout << berth::explain(e) << std::endl; });
}
