// Sandboxes come and go: create, find, probe, destroy; and what is left when somebody is killed.
#include "harness.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::test;
namespace fs = std::filesystem;

namespace {

int parent_of(int pid) {
  const auto text = proc_text(std::to_string(pid) + "/status");
  const auto at = text.find("PPid:");
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + 5));
}

/// The supervisors that this process started.
std::vector<int> own_guests() {
  std::vector<int> out;
  for (const auto pid : pids_with("berth"))
    if (parent_of(pid) == ::getpid())
      out.push_back(pid);
  return out;
}

/// local_victim, running a command.
class victim {
public:
  victim(const fs::path& data, isolation_mode mode, const std::string& command) {
    int out[2];
    BOOST_REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    const auto program = fs::read_symlink("/proc/self/exe").parent_path() / "local_victim";
    const auto mode_text = to_string(mode);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::execl(program.c_str(), program.c_str(), data.c_str(), mode_text.c_str(), command.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    // Its log comes first.
    for (char c = 0; ::read(out[0], &c, 1) == 1 && !(c == '\n' && line_.starts_with("ready "));) {
      if (c == '\n')
        line_.clear();
      else
        line_ += c;
    }
    ::close(out[0]);
  }
  ~victim() { end(); }
  victim(const victim&) = delete;
  victim& operator=(const victim&) = delete;

  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] int pid() const { return pid_; }

private:
  int pid_ = -1;
  std::string line_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(lifecycle)

BOOST_DATA_TEST_CASE(a_sandbox_is_found_listed_and_probed_until_it_is_destroyed, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto probe = [&](const instance_id& x) {
    const auto answer = box.ask<probe_answer>(box.backend, probe_sandbox{box.made.id, x});
    BOOST_REQUIRE(answer);
    return answer->state;
  };
  BOOST_TEST(box.made.fleet == "test");
  BOOST_TEST(box.made.owner_scope.user == "ann");
  BOOST_TEST(box.made.created_at_ms > 0);
  BOOST_TEST(probe(box.made.instance) == health::alive);
  BOOST_TEST(probe({"another"}) == health::dead);
  const auto found = box.ask<find_answer>(box.backend, find_sandbox{box.made.id});
  BOOST_REQUIRE(found);
  BOOST_REQUIRE(found->found.size() == 1u);
  BOOST_TEST(found->found[0].instance.value == box.made.instance.value);
  const auto listed = box.ask<inventory>(box.backend, list_sandboxes{});
  BOOST_REQUIRE(listed);
  BOOST_TEST(listed->complete);
  BOOST_TEST(listed->instances.size() == 1u);
  BOOST_TEST(fs::exists(box.data.path() / "sandboxes" / box.made.id.value / "instance.json"));

  BOOST_REQUIRE(box.write("/mnt/user-data/outputs/kept", "text"));
  const auto gone = box.destroy(box.made);
  BOOST_REQUIRE(gone);
  BOOST_TEST(gone->existed);
  BOOST_TEST(probe(box.made.instance) == health::dead);
  BOOST_TEST(box.ask<find_answer>(box.backend, find_sandbox{box.made.id})->found.empty());
  BOOST_TEST(!fs::exists(box.data.path() / "sandboxes" / box.made.id.value));
  BOOST_TEST(fs::exists(box.user_data() / "outputs/kept")); // files belong to the thread
  BOOST_TEST(!box.destroy(box.made)->existed);              // gone counts as done
  execute x;
  x.command = "true";
  const auto late = box.try_run(x);
  BOOST_REQUIRE(!late);
  BOOST_TEST(code_of(late.error()) == errc::sandbox_gone);
}

BOOST_DATA_TEST_CASE(a_destroy_meant_for_another_instance_touches_nothing, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  auto other = box.made;
  other.instance = {"another"};
  BOOST_TEST(!box.destroy(other)->existed);
  other.instance = {};
  other.epoch = {99};
  BOOST_TEST(!box.destroy(other)->existed);
  BOOST_TEST(box.run("echo alive").out.data == "alive\n");
  other.epoch = box.made.epoch; // a create whose reply was lost: this id and epoch
  BOOST_TEST(box.destroy(other)->existed);
}

BOOST_DATA_TEST_CASE(po1_a_supervisor_killed_behind_our_back_probes_dead, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto seconds = unique_seconds();
  execute x;
  x.command = "setsid sleep " + seconds + " >/dev/null 2>&1 & sleep " + seconds;
  auto running = box.start(x);
  BOOST_REQUIRE(eventually([&] { return processes_with(seconds) >= 2; }));
  const auto guests = own_guests();
  BOOST_REQUIRE(guests.size() == 1u);
  ::kill(guests[0], SIGKILL);
  const auto lost = running.get();
  BOOST_REQUIRE(!lost);
  BOOST_TEST(code_of(lost.error()) == errc::sandbox_gone);
  BOOST_TEST(eventually([&] {
    return box.ask<probe_answer>(box.backend, probe_sandbox{box.made.id, box.made.instance})->state == health::dead;
  }));
  BOOST_TEST(box.ask<find_answer>(box.backend, find_sandbox{box.made.id})->found.empty());
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
  // The next create makes a new one.
  const auto next = box.create(box.made.id, 2);
  BOOST_REQUIRE(next);
  BOOST_TEST(next->instance.value != box.made.instance.value);
  BOOST_REQUIRE(box.destroy(*next));
}

BOOST_DATA_TEST_CASE(a_destroy_ends_everything_also_daemons, both_modes, mode) {
  BERTH_NEEDS(mode);
  const auto seconds = unique_seconds();
  {
    sandbox box{mode};
    box.run("for i in 1 2 3; do (setsid sh -c 'sleep " + seconds + "; :' >/dev/null 2>&1 &) ; done; nohup sleep "
            + seconds + " >/dev/null 2>&1 &");
    BOOST_TEST(eventually([&] { return processes_with(seconds) >= 4; }));
    BOOST_REQUIRE(box.destroy(box.made));
    BOOST_TEST(processes_with(seconds) == 0);
  }
}

BOOST_DATA_TEST_CASE(a_backend_that_ends_takes_its_sandboxes_along, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto seconds = unique_seconds();
  box.run("sleep " + seconds + " >/dev/null 2>&1 &");
  caf::anon_send_exit(box.backend, caf::exit_reason::user_shutdown);
  box.client = nullptr;
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
}

BOOST_DATA_TEST_CASE(a_node_killed_leaves_no_process_and_its_record_is_removed, both_modes, mode) {
  BERTH_NEEDS(mode);
  temp_dir data;
  const auto seconds = unique_seconds();
  victim node{data.path(), mode, "(setsid sleep " + seconds + " &) ; sleep " + seconds};
  BOOST_REQUIRE(node.line().starts_with("ready "));
  BOOST_REQUIRE(eventually([&] { return processes_with("sleep" + std::string(1, '\0') + seconds) >= 2; }));
  node.end();
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
  BOOST_TEST(fs::exists(data.path() / "sandboxes/00000000000000aa"));
  test_config config;
  caf::actor_system system{config};
  auto backend = spawn_local_backend(system, options_for(mode, data.path()));
  BOOST_REQUIRE_MESSAGE(backend, explain(backend.error()));
  BOOST_TEST(fs::is_empty(data.path() / "sandboxes"));
  caf::anon_send_exit(*backend, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(node_and_supervisor_killed_together_are_cleaned_up_at_the_next_start) {
  temp_dir data;
  const auto seconds = unique_seconds();
  victim node{data.path(), isolation_mode::none, "setsid sleep " + seconds};
  BOOST_REQUIRE(eventually([&] { return processes_with("sleep" + std::string(1, '\0') + seconds) == 1; }));
  for (const auto pid : pids_with("--adopt"))
    if (parent_of(pid) == node.pid())
      ::kill(pid, SIGKILL);
  node.end(); // at once: it may or may not have swept already
  test_config config;
  caf::actor_system system{config};
  auto backend = spawn_local_backend(system, options_for(isolation_mode::none, data.path()));
  BOOST_REQUIRE_MESSAGE(backend, explain(backend.error()));
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
  caf::anon_send_exit(*backend, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(a_second_node_on_the_data_directory_is_refused_with_the_pid_of_the_first) {
  temp_dir data;
  victim first{data.path(), isolation_mode::none, "sleep 60"};
  BOOST_REQUIRE(first.line().starts_with("ready "));
  test_config config;
  caf::actor_system system{config};
  const auto second = spawn_local_backend(system, options_for(isolation_mode::none, data.path()));
  BOOST_REQUIRE(!second);
  BOOST_TEST(code_of(second.error()) == errc::already_running);
  BOOST_TEST(context_of(second.error()).find(std::to_string(first.pid())) != std::string::npos);
  BOOST_TEST(context_of(second.error()).find(data.path().string()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_data_directory_that_cannot_be_used_is_refused) {
  test_config config;
  caf::actor_system system{config};
  const auto refused = [&](const fs::path& path, errc code) {
    const auto backend = spawn_local_backend(system, options_for(isolation_mode::none, path));
    BOOST_REQUIRE(!backend);
    BOOST_TEST(code_of(backend.error()) == code, explain(backend.error()));
    BOOST_TEST(context_of(backend.error()).find(path.string()) != std::string::npos);
  };
  temp_dir data;
  std::ofstream{data.path() / "file"} << "x";
  refused(data.path() / "file", errc::config_invalid);
  refused(data.path() / "file/below", errc::config_invalid);
  if (::mount("tmpfs", data.path().c_str(), "tmpfs", MS_RDONLY, "size=64k") != 0) {
    BOOST_TEST_MESSAGE("SKIPPED the read-only and the full disk: mounting needs root");
    return;
  }
  refused(data.path() / "new", errc::read_only);
  ::umount(data.path().c_str());
}

BOOST_DATA_TEST_CASE(a_full_disk_is_told_and_loses_nothing, both_modes, mode) {
  BERTH_NEEDS(mode);
  temp_dir disk;
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    BOOST_TEST_MESSAGE("SKIPPED: mounting needs root");
    return;
  }
  {
    sandbox box{mode, [&](local_options& o) { o.data_dir = disk.path(); }};
    const std::string path = "/mnt/user-data/workspace/a";
    BOOST_REQUIRE(box.write(path, "precious"));
    const auto full = box.write(path, std::string(2'000'000, 'x'));
    BOOST_REQUIRE(!full);
    BOOST_TEST(code_of(full.error()) == errc::no_space);
    const auto appended = box.write(path, std::string(2'000'000, 'x'), true);
    BOOST_REQUIRE(!appended);
    BOOST_TEST(code_of(appended.error()) == errc::no_space);
    BOOST_TEST(box.read(path)->data.data == "precious");
    BOOST_TEST(box.list("/mnt/user-data/workspace")->entries.size() == 1u); // no half-written file beside it
    const auto told = box.run("head -c 2000000 /dev/zero > /mnt/user-data/workspace/b");
    BOOST_TEST(told.err.data.find("No space left") != std::string::npos);
    const auto create = box.ask<instance>(box.backend, create_sandbox{{"ffff"}, {"bob", "t"}, {1}});
    if (!create)
      BOOST_TEST(code_of(create.error()) == errc::no_space);
    else
      BOOST_REQUIRE(box.destroy(*create));
    BOOST_REQUIRE(box.destroy(box.made));
    box.client = nullptr;
    caf::anon_send_exit(box.backend, caf::exit_reason::user_shutdown);
    fs::create_directories(box.data.path() / "sandboxes"); // what the end of the fixture looks at
  }
  BOOST_TEST(eventually([&] { return ::umount(disk.path().c_str()) == 0; }));
}

BOOST_AUTO_TEST_CASE(isolation_that_is_not_possible_is_refused_with_the_way_out) {
  temp_dir data;
  test_config config;
  caf::actor_system system{config};
  for (const auto* program : {"no-such-bwrap", "/bin/false"}) {
    auto options = options_for(isolation_mode::automatic, data.path());
    options.bwrap = program;
    const auto backend = spawn_local_backend(system, options);
    BOOST_REQUIRE(!backend);
    BOOST_TEST(code_of(backend.error()) == errc::unsupported);
    BOOST_TEST(context_of(backend.error()).find("isolation: none") != std::string::npos);
  }
  auto options = options_for(isolation_mode::none, data.path());
  options.guest = data.path() / "missing";
  const auto no_guest = spawn_local_backend(system, options);
  BOOST_REQUIRE(!no_guest);
  BOOST_TEST(code_of(no_guest.error()) == errc::command_not_found);
}

BOOST_DATA_TEST_CASE(a_backend_says_what_it_chose_and_why, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto info = box.ask<backend_info>(box.backend, backend_query{});
  BOOST_REQUIRE(info);
  BOOST_TEST(info->kind == "local");
  BOOST_TEST(!info->survives_node);
  BOOST_TEST(info->shares_thread_data);
  BOOST_TEST(info->detail.find(mode == isolation_mode::none ? "no isolation" : "bubblewrap") != std::string::npos);
}

BOOST_DATA_TEST_CASE(bad_scopes_and_ids_make_nothing, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  for (const std::string part : {"", "..", "a/b", "."}) {
    const auto bad = box.ask<instance>(box.backend, create_sandbox{{"aaaa"}, {part, "t"}, {1}});
    BOOST_REQUIRE(!bad);
    BOOST_TEST(code_of(bad.error()) == errc::invalid_scope);
  }
  const auto bad = box.ask<instance>(box.backend, create_sandbox{{"../x"}, {"u", "t"}, {1}});
  BOOST_REQUIRE(!bad);
  BOOST_TEST(code_of(bad.error()) == errc::invalid_argument);
  // The directory of a scope is for this user alone.
  struct stat info {};
  BOOST_REQUIRE(::stat(box.user_data().c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0700u);
}

BOOST_AUTO_TEST_SUITE_END()
