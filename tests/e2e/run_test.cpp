// berth run with the node it brings along.
#include <csignal>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/e2e/program.hpp"

using namespace berth::e2e;
using nlohmann::json;

namespace {

std::vector<std::string> run_of(std::vector<std::string> command, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> args{"run", "--scope", "e2e/run"};
  args.insert(args.end(), flags.begin(), flags.end());
  args.emplace_back("--");
  args.insert(args.end(), command.begin(), command.end());
  return args;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

BOOST_AUTO_TEST_SUITE(run)

BOOST_AUTO_TEST_CASE(the_exit_status_is_that_of_the_command) {
  const world w;
  for (const int status : {0, 1, 3, 42, 255})
    BOOST_TEST(w.berth(run_of({"exit " + std::to_string(status)})).status == status);
  BOOST_TEST(w.berth(run_of({"kill -TERM $$"})).status == 128 + SIGTERM);
  BOOST_TEST(w.berth(run_of({"no-such-command-anywhere"})).status == 127);
}

BOOST_AUTO_TEST_CASE(standard_output_and_error_stay_apart_and_nothing_is_added) {
  const world w;
  const auto x = w.berth(run_of({"echo out; echo err >&2; printf end"}));
  BOOST_TEST(x.out == "out\nend");
  BOOST_TEST(x.err == "err\n");
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_CASE(one_word_is_a_shell_command_and_several_are_quoted) {
  const world w;
  BOOST_TEST(w.berth(run_of({"echo $((6 * 7)) 'a  b'"})).out == "42 a  b\n");
  BOOST_TEST(w.berth(run_of({"printf", "[%s]", "a  b", "", "it's", "$HOME", "-n", "--", "x;y"})).out
             == "[a  b][][it's][$HOME][-n][--][x;y]");
}

BOOST_AUTO_TEST_CASE(output_arrives_before_the_command_ends) {
  const world w;
  const auto p = w.start(run_of({"echo early; while [ ! -e go ]; do sleep 0.05; done; echo late"}));
  BOOST_TEST(p->prints("early\n"));
  BOOST_TEST(!holds(p->out(), "late"));
  // The workspace of the user is a directory of the host.
  const auto go = std::filesystem::path{w.data_dir()} / "users";
  BOOST_TEST(eventually([&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{go})
      if (entry.is_directory() && entry.path().filename() == "workspace") {
        std::filesystem::create_directory(entry.path() / "go");
        return true;
      }
    return false;
  }));
  const auto x = p->wait();
  BOOST_TEST(x.status == 0);
  BOOST_TEST(x.out == "early\nlate\n");
}

BOOST_AUTO_TEST_CASE(ex8_a_command_that_reads_finds_the_end_of_its_input_at_once) {
  const world w;
  const auto x = w.berth(run_of({"cat; echo done"}), "what the user types is not the command's input\n");
  BOOST_TEST(x.out == "done\n");
}

BOOST_AUTO_TEST_CASE(variables_reach_this_command_only_and_credentials_of_the_user_do_not) {
  world w;
  w.env["MY_API_KEY"] = "inherited-secret";
  BOOST_TEST(w.berth(run_of({"echo \"$A-$B-$MY_API_KEY\""}, {"--env", "A=1", "--env", "B=x=y z"})).out == "1-x=y z-\n");
  BOOST_TEST(w.berth(run_of({"echo \"$A\""})).out == "\n");
}

BOOST_AUTO_TEST_CASE(ex2_ou5_a_command_over_its_limit_ends_with_124_and_its_output_so_far) {
  const world w;
  const auto sleep = long_sleep();
  const auto x = w.berth(run_of({"echo begun; " + sleep + "; true"}, {"--timeout", "0.5"}));
  BOOST_TEST(x.status == 124);
  BOOST_TEST(x.out == "begun\n");
  BOOST_TEST(holds(x.err, "berth: "));
  BOOST_TEST(x.elapsed < seconds{10});
  BOOST_TEST(w.nothing_left(sleep));
}

BOOST_AUTO_TEST_CASE(a_short_time_limit_is_shown_as_it_was_given) {
  const world w;
  const auto x = w.berth(run_of({"sleep 60"}, {"--timeout", "0.001"}));
  BOOST_TEST(x.status == 124);
  BOOST_TEST(holds(x.err, "longer than 0.001 s\n"), x.err);
}

BOOST_AUTO_TEST_CASE(a_note_of_berth_starts_on_a_line_of_its_own) {
  const world w;
  const auto x = w.berth(run_of({"printf half >&2; seq 1000"}, {"--output-cap", "100"}));
  BOOST_TEST(holds(x.err, "half\nberth: stdout was cut"), x.err);
  const auto y = w.berth(run_of({"echo whole >&2; seq 1000"}, {"--output-cap", "100"}));
  BOOST_TEST(holds(y.err, "whole\nberth: stdout was cut"), y.err);
}

BOOST_AUTO_TEST_CASE(ou3_large_output_is_complete_and_the_status_follows_it) {
  const world w;
  const auto x = w.berth(run_of({"head -c 5000000 /dev/zero | tr '\\0' x; exit 3"}));
  BOOST_TEST(x.status == 3);
  BOOST_TEST(x.out.size() == 5'000'000u);
  BOOST_TEST(x.err.empty());
}

BOOST_AUTO_TEST_CASE(ou4_output_over_the_cap_is_cut_and_that_is_said) {
  const world w;
  const auto x = w.berth(run_of({"head -c 100000 /dev/zero | tr '\\0' x"}, {"--output-cap", "1000"}));
  BOOST_TEST(x.status == 0);
  BOOST_TEST(x.out == std::string(1000, 'x'));
  BOOST_TEST(holds(x.err, "1000 of 100000 bytes"), x.err);
}

BOOST_AUTO_TEST_CASE(json_is_one_document_with_status_streams_and_totals) {
  const world w;
  const auto x = w.berth(run_of({"echo out; printf '\\377' >&2; exit 7"}, {"--json"}));
  BOOST_TEST(x.status == 7);
  BOOST_TEST(x.err.empty());
  const auto d = json::parse(x.out);
  BOOST_TEST(d["status"] == 7);
  BOOST_TEST(d["end"] == "exited");
  BOOST_TEST(d["origin"] == "created");
  BOOST_TEST(d["stdout"] == "out\n");
  BOOST_TEST(d["stdout_encoding"] == "utf-8");
  BOOST_TEST(d["stdout_total"] == 4);
  BOOST_TEST(d["stderr"] == "/w==");
  BOOST_TEST(d["stderr_encoding"] == "base64");
  BOOST_TEST(json::parse(w.berth(run_of({"sleep 60"}, {"--json", "--timeout", "0.2"})).out)["end"] == "timed_out");
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_away_ends_the_command) {
  const world w;
  const auto p = w.start(run_of({"yes"}));
  BOOST_TEST(p->prints("y\n"));
  p->close_out();
  const auto x = p->wait(seconds{15});
  BOOST_TEST(x.status == 128 + SIGPIPE);
  BOOST_TEST(x.err.empty(), x.err);
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_CASE(inside_the_sandbox_a_broken_pipe_ends_a_command_as_usual) {
  const world w;
  const auto x = w.berth(run_of({"yes | head -1; echo ${PIPESTATUS[0]}"}), {}, seconds{15});
  BOOST_TEST(x.out == "y\n141\n");
  BOOST_TEST(x.err.empty(), x.err);
}

BOOST_AUTO_TEST_CASE(ctrl_c_ends_the_command_and_leaves_nothing) {
  const world w;
  const auto sleep = long_sleep();
  for (const auto& [number, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    const auto p = w.start(run_of({"echo begun; " + sleep}));
    BOOST_TEST(p->prints("begun"));
    p->signal(number);
    BOOST_TEST(p->wait(seconds{15}).status == status);
    BOOST_TEST(w.nothing_left(sleep));
  }
}

BOOST_AUTO_TEST_CASE(a_second_ctrl_c_ends_at_once_and_leaves_nothing) {
  const world w{"\n"};
  const auto sleep = long_sleep();
  // Deaf to the polite request: an orderly end would wait for the grace.
  const auto p = w.start(run_of({"trap '' TERM INT; echo begun; while true; do " + sleep + "; done"}));
  BOOST_TEST(p->prints("begun"));
  const auto before = std::chrono::steady_clock::now();
  p->signal(SIGINT);
  // The first one has to be taken before the second can be one.
  BOOST_TEST(eventually([&] {
    p->signal(SIGINT);
    return p->wait(milliseconds{20}).status == 130;
  }));
  BOOST_TEST((std::chrono::steady_clock::now() - before < seconds{2}));
  BOOST_TEST(w.nothing_left(sleep));
}

BOOST_AUTO_TEST_CASE(a_killed_command_line_leaves_no_process) {
  const world w;
  const auto sleep = long_sleep();
  const auto p = w.start(run_of({"(" + sleep + " &) ; echo begun; " + sleep}));
  BOOST_TEST(p->prints("begun"));
  p->signal(SIGKILL);
  BOOST_TEST(p->wait().status == 128 + SIGKILL);
  BOOST_TEST(w.nothing_left(sleep));
}

BOOST_AUTO_TEST_CASE(files_of_a_user_outlive_the_sandbox_and_other_scopes_do_not_see_them) {
  const world w;
  BOOST_TEST(w.berth(run_of({"echo kept > /mnt/user-data/workspace/note"})).status == 0);
  BOOST_TEST(w.berth(run_of({"cat /mnt/user-data/workspace/note"})).out == "kept\n");
  BOOST_TEST(w.berth({"run", "--scope", "e2e/other", "--", "cat /mnt/user-data/workspace/note"}).status != 0);
  BOOST_TEST(w.berth({"read", "e2e/run", "/mnt/user-data/workspace/note"}).out == "kept\n");
}

BOOST_AUTO_TEST_CASE(trace_shows_the_acquire_across_its_actors_on_standard_error) {
  const world w;
  const auto x = w.berth(run_of({"echo out"}, {"--trace"}));
  BOOST_TEST(x.out == "out\n");
  for (const auto* part : {"acquire_sandbox", "provider", "take_lease", "create_sandbox", "acquired"})
    BOOST_TEST(holds(x.err, part), x.err);
}

BOOST_AUTO_TEST_CASE(two_at_once_on_one_data_directory_are_told_how_to_share_it) {
  const world w;
  const auto p = w.start(run_of({"echo begun; " + long_sleep()}));
  BOOST_TEST(p->prints("begun"));
  const auto x = w.berth(run_of({"true"}));
  BOOST_TEST(x.status == 125);
  BOOST_TEST(holds(x.err, "already running"), x.err);
  BOOST_TEST(holds(x.err, std::to_string(p->pid())), x.err);
  p->signal(SIGINT);
  BOOST_TEST(p->wait().status == 130);
}

BOOST_AUTO_TEST_CASE(without_a_node_list_is_empty_and_an_id_is_unknown_with_advice) {
  const world w;
  const auto list = w.berth({"list", "--json"});
  BOOST_TEST(list.status == 0);
  BOOST_TEST(json::parse(list.out)["sandboxes"].empty());
  BOOST_TEST(json::parse(list.out)["embedded"] == true);
  for (const auto& args :
       {std::vector<std::string>{"read", "0123456789abcdef", "/mnt/user-data/x"},
        std::vector<std::string>{"release", "a/b"}, std::vector<std::string>{"destroy", "0123456789abcdef"}}) {
    const auto x = w.berth(args);
    BOOST_TEST(x.status == 1);
    BOOST_TEST(holds(x.err, "berth node"), x.err);
  }
  const auto acquire = w.berth({"acquire", "--scope", "a/b"});
  BOOST_TEST(acquire.status == 0);
  BOOST_TEST(holds(acquire.err, "ends with this command"), acquire.err);
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_CASE(on_a_terminal_a_wait_of_more_than_a_second_shows_progress_and_erases_it) {
  const world w;
  const auto slow = w.start(run_of({"sleep 1.5; echo done"}), {}, program::err_to::terminal)->wait();
  BOOST_TEST(slow.out == "done\n");
  BOOST_TEST(holds(slow.err, "running ... 1 s"), slow.err);
  BOOST_TEST(slow.err.ends_with("\r\x1b[K"), slow.err);
  BOOST_TEST(w.start(run_of({"echo done"}), {}, program::err_to::terminal)->wait().err == "");
}

BOOST_AUTO_TEST_SUITE_END()
