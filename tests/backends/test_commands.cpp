// Running commands: what they see, and what is refused.
#include "harness.hpp"

#include "backends/exec_text.hpp"

using namespace berth;
using namespace berth::test;

BOOST_AUTO_TEST_SUITE(commands)

BOOST_DATA_TEST_CASE(a_command_answers_with_its_output_and_status, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto x = box.run("echo out; echo err >&2; exit 3");
  BOOST_TEST(x.out.data == "out\n");
  BOOST_TEST(x.err.data == "err\n");
  BOOST_CHECK((x.status == exit_status{exit_kind::exited, 3}));
  BOOST_TEST(!x.id.empty());
  const auto killed = box.run("kill -9 $$");
  BOOST_CHECK((killed.status == exit_status{exit_kind::signaled, 9}));
}

BOOST_DATA_TEST_CASE(a_command_starts_in_the_workspace, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  // X44: without isolation the host directory is shown by its virtual name.
  BOOST_TEST(box.run("pwd").out.data == "/mnt/user-data/workspace\n");
  BOOST_TEST(box.run("echo hi > a.txt; cat /mnt/user-data/workspace/a.txt").out.data == "hi\n");
  BOOST_TEST(std::filesystem::exists(box.user_data() / "workspace/a.txt"));
}

BOOST_DATA_TEST_CASE(k0357_the_user_data_root_shows_three_folders, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_TEST(box.run("ls /mnt/user-data").out.data == "outputs\nuploads\nworkspace\n");
}

BOOST_DATA_TEST_CASE(k0332_a_mount_path_in_a_command_reaches_the_mount, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_TEST(box.run("echo acp > /mnt/acp-workspace/x; cat '/mnt/acp-workspace/x'").out.data == "acp\n");
  // X43: one that leaves its mount runs nothing.
  if (mode == isolation_mode::none) {
    execute x;
    x.command = "echo never > /mnt/user-data/workspace/ran; cat /mnt/user-data/../../../../etc/passwd";
    const auto refused = box.try_run(x);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(code_of(refused.error()) == errc::permission_denied);
    BOOST_TEST(!std::filesystem::exists(box.user_data() / "workspace/ran"));
  }
}

BOOST_DATA_TEST_CASE(ex8_k0280_standard_input_is_at_its_end, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const stopwatch watch;
  BOOST_TEST(box.run("cat").status.code == 0);
  const auto x = box.run("/usr/bin/python3 -c 'input()'");
  BOOST_TEST(x.status.code == 1);
  BOOST_TEST(x.err.data.find("EOFError") != std::string::npos);
  BOOST_TEST(watch.ms() < 5000);
}

BOOST_DATA_TEST_CASE(x3_an_environment_is_for_one_command_only, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode, [](local_options& o) { o.environment["STATIC"] = "yes"; }};
  execute x;
  x.command = "echo \"$TOKEN $STATIC\"";
  x.env.values["TOKEN"] = "s3cret";
  const auto with = box.try_run(x);
  BOOST_REQUIRE(with);
  BOOST_TEST(with->out.data == "s3cret yes\n");
  BOOST_TEST(box.run("echo \"[$TOKEN]\"").out.data == "[]\n");
}

BOOST_DATA_TEST_CASE(a_large_command_and_environment_pass, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  execute x;
  x.command = "printf '%s' \"$A$B$C\" | wc -c; : " + std::string(100'000, 'x');
  for (const auto* name : {"A", "B", "C"})
    x.env.values[name] = std::string(100'000, 'v');
  const auto done = box.try_run(x);
  BOOST_REQUIRE_MESSAGE(done, explain(done.error()));
  BOOST_TEST(done->out.data == "300000\n");
  // One string over the kernel's limit is an error, not a crash.
  x.command = ": " + std::string(200'000, 'x');
  const auto refused = box.try_run(x);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(context_of(refused.error()).find("too long") != std::string::npos);
}

BOOST_DATA_TEST_CASE(bad_requests_are_refused_by_name, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto refused = [&](const execute& x, const std::string& names) {
    const auto answer = box.try_run(x);
    BOOST_REQUIRE(!answer);
    BOOST_TEST(code_of(answer.error()) == errc::invalid_argument);
    BOOST_TEST(context_of(answer.error()).find(names) != std::string::npos, context_of(answer.error()));
  };
  execute x;
  refused(x, "command");
  x.command = std::string{"echo \0 x", 8};
  refused(x, "NUL");
  x.command = "true";
  x.timeout_ms = 0;
  refused(x, "timeout_ms 0");
  x.timeout_ms = -5;
  refused(x, "timeout_ms -5");
  x.timeout_ms = 1000;
  x.output_cap = -1;
  refused(x, "output_cap");
  x.output_cap = 10;
  for (const std::string name : {"A B", "1A", "", "A=B", "Ä"}) { // X1
    x.env.values = {{name, "value-not-shown"}};
    refused(x, "env name '" + name + "'");
  }
  x.env.values = {{"GOOD\n", "value-not-shown"}};
  refused(x, "GOOD\\x0a");
}

BOOST_DATA_TEST_CASE(a_command_that_does_not_exist_is_the_shells_127, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto x = box.run("no-such-program-here");
  BOOST_CHECK((x.status == exit_status{exit_kind::exited, 127}));
  BOOST_TEST(x.err.data.find("no-such-program-here") != std::string::npos);
}

BOOST_DATA_TEST_CASE(ex10_a_thousand_commands_in_parallel_all_end_well, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  constexpr int count = 1000;
  execute x;
  x.command = "/bin/true";
  std::vector<std::future<caf::expected<executed>>> answers;
  for (int i = 0; i < count; ++i)
    answers.push_back(box.start(x));
  for (auto& answer : answers) {
    const auto done = answer.get();
    BOOST_REQUIRE(done);
    BOOST_TEST((done->status == exit_status{exit_kind::exited, 0}));
  }
  // No zombie: every child was reaped.
  const auto left = box.run("ps -eo stat,comm 2>/dev/null | grep -c '^Z.*true' ; true");
  BOOST_TEST(left.out.data == "0\n");
}

BOOST_DATA_TEST_CASE(ex12_answers_are_never_mixed, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto make = [](int i) {
    execute x;
    x.id = {"c" + std::to_string(i)};
    x.command = "for i in 1 2 3; do echo " + std::to_string(i) + "; done; echo e" + std::to_string(i) + " >&2";
    return x;
  };
  const auto check = [](const executed& e) {
    const auto n = e.id.value.substr(1);
    BOOST_TEST(e.out.data == n + "\n" + n + "\n" + n + "\n");
    BOOST_TEST(e.err.data == "e" + n + "\n");
  };
  std::vector<std::future<caf::expected<executed>>> answers;
  for (int i = 0; i < 10; ++i)
    answers.push_back(box.start(make(i)));
  for (auto& answer : answers)
    check(*answer.get());
  for (int i = 0; i < 50; ++i)
    check(*box.try_run(make(i)));
}

BOOST_DATA_TEST_CASE(commands_inherit_and_leave_no_descriptor, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  // The last one is the directory that ls reads.
  BOOST_TEST(box.run("ls /proc/self/fd").out.data == "0\n1\n2\n3\n");
  const auto open_now = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
  };
  const auto before = open_now();
  for (int i = 0; i < 20; ++i)
    box.run("echo x; echo y >&2");
  BOOST_TEST(eventually([&] { return open_now() <= before; }));
}

BOOST_DATA_TEST_CASE(a_removed_workspace_is_made_again, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  box.run("rm -rf /mnt/user-data/workspace");
  BOOST_TEST(box.run("pwd").out.data == "/mnt/user-data/workspace\n");
}

BOOST_DATA_TEST_CASE(ex14_reads_and_lists_answer_while_a_command_sleeps, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  execute x;
  x.command = "sleep 60";
  x.id = {"sleeper"};
  auto sleeper = box.start(x);
  BOOST_REQUIRE(eventually([&] { return !box.ask<command_list>(box.client, list_commands{})->commands.empty(); }));
  const stopwatch watch;
  BOOST_REQUIRE(box.write("/mnt/user-data/workspace/a", "text"));
  BOOST_REQUIRE(box.read("/mnt/user-data/workspace/a"));
  BOOST_TEST(box.run("echo quick").out.data == "quick\n");
  const auto commands = box.ask<command_list>(box.client, list_commands{});
  BOOST_REQUIRE(commands);
  BOOST_REQUIRE(commands->commands.size() == 1u);
  BOOST_TEST(commands->commands[0].id.value == "sleeper");
  BOOST_TEST(commands->commands[0].command == "sleep 60");
  BOOST_TEST(watch.ms() < 5000);
  const auto stopped = box.ask<commands_stopped>(box.client, stop_commands{{"sleeper"}, 2000});
  BOOST_REQUIRE(stopped);
  BOOST_TEST(stopped->count == 1);
  BOOST_TEST(sleeper.get()->status.kind == exit_kind::cancelled);
  BOOST_TEST(watch.ms() < 10000);
}

BOOST_AUTO_TEST_CASE(isolated_commands_see_nothing_of_the_host) {
  BERTH_NEEDS(isolation_mode::bubblewrap);
  sandbox box{isolation_mode::bubblewrap};
  BOOST_TEST(box.run("ls -d /root /home " + box.data.path().string() + " 2>/dev/null").out.data.empty());
  BOOST_TEST(box.run("ls /proc | grep -c '^[0-9]'").out.data.size() <= 3u); // its own processes only
  BOOST_TEST(box.run("echo x > /usr/x 2>/dev/null || echo refused").out.data == "refused\n");
  BOOST_TEST(box.run("echo x > /x 2>/dev/null || echo refused").out.data == "refused\n");
  BOOST_TEST(box.run("cat /etc/shadow 2>/dev/null || echo refused").out.data == "refused\n");
  BOOST_TEST(box.run("ls /sys/class/net 2>/dev/null; grep -vc lo: /proc/net/dev").out.data == "2\n"); // header lines
  BOOST_TEST(box.run("echo $HOME").out.data == "/mnt/user-data/workspace\n");
  BOOST_TEST(box.run("grep CapEff /proc/self/status").out.data == "CapEff:\t0000000000000000\n");
}

BOOST_AUTO_TEST_SUITE_END()
