// How commands end: limits, background children, stops, and what is signalled.
#include "harness.hpp"

#include <csignal>
#include <unistd.h>

using namespace berth;
using namespace berth::test;

BOOST_AUTO_TEST_SUITE(ends)

BOOST_DATA_TEST_CASE(ex1_a_background_server_lives_on_and_the_answer_comes_at_once, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const stopwatch watch;
  const auto x = box.run("/usr/bin/python3 -m http.server 0 & echo $! > pid; echo ok");
  BOOST_TEST(watch.ms() < 1000);
  BOOST_TEST(x.out.data.find("ok\n") != std::string::npos);
  BOOST_TEST(box.run("kill -0 $(cat pid) && echo alive").out.data == "alive\n");
}

BOOST_DATA_TEST_CASE(ex2_k0277_k0279_ou5_a_limit_kills_the_group_and_keeps_the_output, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto seconds = unique_seconds();
  const stopwatch watch;
  const auto x = box.run("echo before; sh -c 'sleep " + seconds + "; true'", 1000);
  BOOST_TEST(watch.ms() >= 1000);
  BOOST_TEST(watch.ms() < 2000);
  BOOST_TEST(x.status.kind == exit_kind::timed_out);
  BOOST_TEST(x.out.data == "before\n");
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
}

BOOST_DATA_TEST_CASE(ex3_busy_children_are_killed_with_their_group, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto mark = "busy" + unique_seconds();
  const stopwatch watch;
  const auto loud = "yes " + mark + " >/dev/null & ";
  const auto x = box.run(loud + loud + loud + "wait", 1000);
  BOOST_TEST(watch.ms() < 2000);
  BOOST_TEST(x.status.kind == exit_kind::timed_out);
  BOOST_TEST(eventually([&] { return processes_with(mark) == 0; }));
}

BOOST_DATA_TEST_CASE(ex4_a_background_sleep_does_not_hold_the_answer, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const stopwatch watch;
  const auto x = box.run("sh -c 'sleep 8 &'", 1000);
  BOOST_TEST(watch.ms() < 900);
  BOOST_CHECK((x.status == exit_status{exit_kind::exited, 0}));
}

BOOST_DATA_TEST_CASE(ex5_k0276_a_daemon_that_holds_the_pipe_is_drained_and_dropped, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const stopwatch watch;
  // It writes far more than a pipe holds, and can only reach its end if somebody reads.
  const auto x = box.run("(setsid sh -c 'echo first; sleep 1; head -c 3000000 /dev/zero; touch done' &) ; sleep 0.05");
  BOOST_TEST(watch.ms() < 900);
  BOOST_CHECK((x.status == exit_status{exit_kind::exited, 0}));
  BOOST_TEST(x.out.data == "first\n");
  BOOST_TEST(eventually([&] { return std::filesystem::exists(box.user_data() / "workspace/done"); }));
}

BOOST_DATA_TEST_CASE(ex6_two_hundred_limits_leave_no_process, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto seconds = unique_seconds();
  execute x;
  x.command = "sleep " + seconds;
  x.timeout_ms = 200;
  std::vector<std::future<caf::expected<executed>>> answers;
  for (int i = 0; i < 200; ++i)
    answers.push_back(box.start(x));
  for (auto& answer : answers)
    BOOST_TEST(answer.get()->status.kind == exit_kind::timed_out);
  BOOST_TEST(box.run("ls /mnt/user-data").status.code == 0);
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
}

BOOST_DATA_TEST_CASE(or4_stopping_never_signals_what_is_not_ours, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  // A command that has ended left a member in its group. Stopping all commands afterwards must not reach that group,
  // whose id may be somebody else's by then.
  const auto seconds = unique_seconds();
  execute x;
  x.command = "sleep " + seconds + " >/dev/null 2>&1 & echo started";
  x.id = {"first"};
  BOOST_REQUIRE(box.try_run(x));
  const auto stopped = box.ask<commands_stopped>(box.client, stop_commands{{"first"}, 0});
  BOOST_REQUIRE(stopped);
  BOOST_TEST(stopped->count == 0);
  BOOST_TEST(box.run("true").status.code == 0);
  BOOST_TEST(processes_with(seconds) == 1);
}

BOOST_DATA_TEST_CASE(a_stop_asks_first_and_kills_after_the_grace, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  execute x;
  x.command = "trap 'echo told; exit 5' TERM; touch ready; while :; do sleep 0.05; done";
  auto polite = box.start(x);
  BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(box.user_data() / "workspace/ready"); }));
  BOOST_REQUIRE(box.ask<commands_stopped>(box.client, stop_commands{{}, 5000}));
  const auto told = polite.get();
  BOOST_CHECK((told->status == exit_status{exit_kind::cancelled, 5}));
  BOOST_TEST(told->out.data.find("told\n") != std::string::npos);
  x.command = "trap '' TERM; touch deaf; while :; do sleep 0.05; done";
  auto deaf = box.start(x);
  BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(box.user_data() / "workspace/deaf"); }));
  const stopwatch watch;
  BOOST_REQUIRE(box.ask<commands_stopped>(box.client, stop_commands{{}, 300}));
  BOOST_TEST(watch.ms() >= 300);
  BOOST_TEST(watch.ms() < 3000);
  BOOST_TEST(deaf.get()->status.kind == exit_kind::cancelled);
}

BOOST_DATA_TEST_CASE(a_command_ends_with_its_client, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto seconds = unique_seconds();
  auto other = box.ask<client_actor>(box.backend, open_sandbox{box.made.id, box.made.instance});
  BOOST_REQUIRE(other);
  execute x;
  x.command = "sleep " + seconds;
  auto lost = box.ask_later<executed>(*other, x);
  BOOST_REQUIRE(eventually([&] { return processes_with(seconds) >= 1; }));
  caf::anon_send_exit(*other, caf::exit_reason::kill);
  BOOST_TEST(!lost.get());
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
}

BOOST_DATA_TEST_CASE(a_supervisor_that_is_frozen_is_given_up_at_the_limit_of_a_command, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  // Whoever is the parent of a command is its supervisor; outside, that is the only process it has that can be found.
  const auto seconds = unique_seconds();
  execute x;
  x.command = "exec sleep " + seconds;
  x.timeout_ms = 2000;
  const stopwatch watch;
  auto answer = box.start(x);
  BOOST_REQUIRE(eventually([&] { return processes_with(seconds) == 1; }));
  const auto status = proc_text(std::to_string(pids_with(seconds).front()) + "/status");
  const auto parent = std::stoi(status.substr(status.find("PPid:") + 5));
  BOOST_REQUIRE(parent > 1 && parent != ::getpid());
  BOOST_REQUIRE(::kill(parent, SIGSTOP) == 0);
  const auto told = answer.get();
  BOOST_TEST(watch.ms() >= 2000);
  BOOST_TEST(watch.ms() < 3000);
  BOOST_REQUIRE(!told);
  BOOST_TEST(code_of(told.error()) == errc::sandbox_gone);
  const auto probed = box.ask<probe_answer>(box.backend, probe_sandbox{box.made.id, box.made.instance});
  BOOST_REQUIRE(probed);
  BOOST_TEST(probed->state == health::dead);
  BOOST_TEST(eventually([&] { return processes_with(seconds) == 0; }));
}

BOOST_AUTO_TEST_SUITE_END()
