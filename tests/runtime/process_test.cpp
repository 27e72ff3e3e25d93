// What can only be seen from outside a process: signals, and ids that differ between processes.
#include <csignal>
#include <cstdio>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// The probe with its standard output in a pipe; killed when the test leaves it running.
class probe {
public:
  explicit probe(const char* what) {
    int ends[2];
    BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::string name = "probe";
    std::string argument = what;
    char* const arguments[] = {name.data(), argument.data(), nullptr};
    BOOST_REQUIRE(posix_spawn(&pid_, BERTH_PROBE, &actions, nullptr, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
  }
  ~probe() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(out_);
  }
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;

  // The next line, or what there was of it when the output ended or 20 s were over.
  std::string line() const {
    std::string result;
    pollfd readable{out_, POLLIN, 0};
    for (char c = 0; poll(&readable, 1, 20'000) > 0 && read(out_, &c, 1) == 1 && c != '\n';)
      result += c;
    return result;
  }

  void signal(int number) const { BOOST_REQUIRE(kill(pid_, number) == 0); }

  int status() {
    line(); // returns when the process has closed its output
    auto status = 0;
    BOOST_REQUIRE(waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    BOOST_TEST(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

private:
  pid_t pid_ = -1;
  int out_ = -1;
};

} // namespace

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(two_processes_have_different_node_ids_even_without_their_process_ids) {
  const auto first = probe{"node-id"}.line();
  const auto second = probe{"node-id"}.line();
  BOOST_TEST(!first.empty());
  BOOST_TEST(first != second);
}

BOOST_AUTO_TEST_CASE(the_first_signal_starts_an_orderly_stop) {
  for (const auto number : {SIGINT, SIGTERM}) {
    probe p{"signal-quick"};
    BOOST_REQUIRE(p.line() == "ready");
    p.signal(number);
    BOOST_TEST(p.line() == "stopping on " + std::to_string(number));
    BOOST_TEST(p.status() == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_the_process_at_once_with_the_shells_status) {
  for (const auto number : {SIGINT, SIGTERM}) {
    probe p{"signal-slow"};
    BOOST_REQUIRE(p.line() == "ready");
    p.signal(SIGTERM);
    BOOST_REQUIRE(p.line() == "stopping on " + std::to_string(SIGTERM));
    p.signal(number);
    BOOST_TEST(p.status() == 128 + number);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_hangs_up_is_an_error_and_not_the_end) {
  probe p{"sigpipe"};
  BOOST_TEST(p.line() == "an error");
  BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(caf_says_nothing_on_standard_output) {
  probe p{"caf-output"};
  BOOST_TEST(p.line() == "");
  BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
