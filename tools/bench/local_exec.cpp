// The cost of a command in a local sandbox: `true` through a client_actor (request, wait for the answer), beside a bare
// posix_spawn and waitpid of the same command line with the same pipes, in the same run, taking turns. With bubblewrap
// the floor is a bare bwrap with the same arguments around the same command.
//
//   bench_local_exec [COMMANDS_PER_ROUND [ROUNDS]]
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "backends/local/isolation.hpp"
#include "messages/types.hpp"

namespace {

using namespace berth;
namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& why) {
  std::cerr << "bench_local_exec: " << why << "\n";
  std::exit(1);
}

double median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

double microseconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

/// No more than berth must do: no standard input, two pipes read to their end, the status.
void run_bare(const std::vector<std::string>& argv, const std::vector<std::string>& env, const std::string& cwd) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    die("no pipe");
  const auto pointers = [](const std::vector<std::string>& x) {
    std::vector<char*> p;
    p.reserve(x.size() + 1);
    for (const auto& s : x)
      p.push_back(const_cast<char*>(s.c_str()));
    p.push_back(nullptr);
    return p;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  posix_spawn_file_actions_addchdir_np(&actions, cwd.c_str());
  pid_t pid = -1;
  if (::posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers(argv).data(), pointers(env).data()) != 0)
    die("cannot start " + argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  char buffer[4096];
  for (const int fd : {out[0], err[0]}) {
    while (::read(fd, buffer, sizeof buffer) > 0) {
    }
    ::close(fd);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0)
    die(argv[0] + " failed");
}

class temp_dir {
public:
  temp_dir() : path_((fs::temp_directory_path() / "berth-bench-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      die("cannot make a directory");
  }
  ~temp_dir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

struct figures {
  double berth = 0;
  double bare = 0;
  double ratio = 0;
};

figures measure(isolation_mode mode, int commands, int rounds) {
  temp_dir data;
  caf::actor_system_config config;
  add_messages(config);
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{2});
  config.set("scheduler.max-throughput", std::size_t{100});
  caf::actor_system system{config};
  local_options options;
  options.data_dir = data.path();
  options.isolation = mode;
  options.base_environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  auto backend = spawn_local_backend(system, options);
  if (!backend)
    die(explain(backend.error()));
  caf::scoped_actor self{system};
  const std::chrono::seconds bound{30};
  const auto failed = [](caf::error& e) { die(explain(e)); };
  instance made;
  client_actor client;
  self->request(*backend, bound, create_sandbox{{"00000000000000be"}, {"bench", "t"}, {1}})
      .receive([&](instance& x) { made = std::move(x); }, failed);
  self->request(*backend, bound, open_sandbox{made.id, made.instance})
      .receive([&](client_actor& x) { client = std::move(x); }, failed);

  // The floor: the same shell, the same environment, the same directory; bwrap's arguments as berth gives them.
  auto chosen = local::choose_isolation(options);
  if (!chosen)
    die(explain(chosen.error()));
  const auto thread = fs::canonical(data.path()) / "users/bench/threads/t";
  const std::vector<local::mount> mounts{{"/mnt/user-data", thread / "user-data"},
                                         {"/mnt/acp-workspace", thread / "acp-workspace"}};
  const local::path_map map{mounts};
  std::vector<std::string> env;
  for (const auto& [name, value] : local::command_environment(*chosen, options, map))
    env.emplace_back(name).append("=").append(value);
  std::vector<std::string> argv;
  auto cwd = (thread / "user-data/workspace").string();
  if (mode == isolation_mode::bubblewrap) {
    argv = local::guest_command(*chosen, mounts);
    argv.pop_back();
    std::erase(argv, "--as-pid-1");
  }
  for (const auto& word : {chosen->shell, std::string{"-c"}, std::string{"true"}})
    argv.push_back(word);

  const auto run_berth = [&] {
    execute x;
    x.command = "true";
    self->request(client, bound, std::move(x))
        .receive(
            [](const executed& e) {
              if (e.status != exit_status{})
                die("true failed");
            },
            failed);
  };
  for (int i = 0; i < 20; ++i) {
    run_berth();
    run_bare(argv, env, cwd);
  }
  std::vector<double> berth_medians;
  std::vector<double> bare_medians;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> berth_times;
    std::vector<double> bare_times;
    for (int i = 0; i < commands; ++i) {
      auto begin = clock_type::now();
      run_berth();
      berth_times.push_back(microseconds_since(begin));
      begin = clock_type::now();
      run_bare(argv, env, cwd);
      bare_times.push_back(microseconds_since(begin));
    }
    berth_medians.push_back(median(berth_times));
    bare_medians.push_back(median(bare_times));
    ratios.push_back(berth_medians.back() / bare_medians.back());
    std::cout << to_string(mode) << " round " << round + 1 << ": berth " << berth_medians.back() << " us, bare "
              << bare_medians.back() << " us, ratio " << ratios.back() << std::endl;
  }
  self->request(*backend, bound, destroy_sandbox{made.id, made.instance, made.epoch}).receive([](destroyed) {}, failed);
  caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(*backend, caf::exit_reason::user_shutdown);
  return {median(berth_medians), median(bare_medians), median(ratios)};
}

} // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, int otherwise) {
    const auto value = argc > index ? std::atoi(argv[index]) : otherwise;
    return value > 0 ? value : otherwise;
  };
  const auto commands = number(1, 200);
  const auto rounds = number(2, 5);
  const auto plain = measure(isolation_mode::none, commands, rounds);
  nlohmann::json out{{"bench", "local_exec"},       {"commands_per_round", commands}, {"rounds", rounds},
                     {"berth_p50_us", plain.berth}, {"bare_p50_us", plain.bare},      {"ratio_p50", plain.ratio},
                     {"target_ratio_p50", 1.3},     {"target_ratio_p50_bwrap", 1.2}};
  local_options probe;
  probe.isolation = isolation_mode::bubblewrap;
  if (const auto possible = local::choose_isolation(probe); possible) {
    const auto isolated = measure(isolation_mode::bubblewrap, commands, rounds);
    out["berth_p50_us_bwrap"] = isolated.berth;
    out["bare_p50_us_bwrap"] = isolated.bare;
    out["ratio_p50_bwrap"] = isolated.ratio;
  } else {
    std::cout << "no bubblewrap here: " << explain(possible.error()) << "\n";
    out["ratio_p50_bwrap"] = nullptr;
  }
  std::cout << out.dump() << std::endl;
}
