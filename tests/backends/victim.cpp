// A process that holds a local backend with one sandbox, for tests of what is left when it is killed:
//   local_victim DATA_DIR auto|bubblewrap|none COMMAND
// Prints `ready INSTANCE`, starts the command, and waits for ever.
#include <iostream>
#include <string_view>

#include <unistd.h>

#include "backends/local/local.hpp"
#include "messages/types.hpp"

int main(int argc, char** argv) {
  using namespace berth;
  if (argc != 4)
    return 2;
  caf::actor_system_config config;
  add_messages(config);
  caf::actor_system system{config};
  local_options options;
  options.data_dir = argv[1];
  options.node = {"victim"};
  options.isolation = std::string_view{argv[2]} == "none" ? isolation_mode::none : isolation_mode::bubblewrap;
  options.base_environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  auto backend = spawn_local_backend(system, options);
  if (!backend) {
    std::cerr << explain(backend.error()) << std::endl;
    return 1;
  }
  caf::scoped_actor self{system};
  const auto failed = [](caf::error& e) {
    std::cerr << explain(e) << std::endl;
    ::_exit(1);
  };
  instance made;
  client_actor client;
  const std::chrono::seconds bound{30};
  self->request(*backend, bound, create_sandbox{{"00000000000000aa"}, {"victim", "t"}, {1}})
      .receive([&](instance& x) { made = std::move(x); }, failed);
  self->request(*backend, bound, open_sandbox{made.id, made.instance})
      .receive([&](client_actor& x) { client = std::move(x); }, failed);
  std::cout << "ready " << made.instance.value << std::endl;
  execute x;
  x.command = argv[3];
  self->request(client, caf::infinite, x).receive([](const executed&) {}, [](caf::error&) {});
  for (;;)
    ::pause();
}
