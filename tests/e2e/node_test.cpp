// A node and the commands that talk to it.
#include <csignal>
#include <memory>
#include <set>

#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/e2e/program.hpp"

using namespace berth::e2e;
using nlohmann::json;

namespace {

const std::string note = "/mnt/user-data/workspace/deep/note";

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t sandbox_directories(const world& w) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{w.data_dir() / "sandboxes"})
    ++count;
  return count;
}

} // namespace

BOOST_AUTO_TEST_SUITE(a_node)

BOOST_AUTO_TEST_CASE(a_sandbox_is_created_used_released_and_reclaimed_warm_with_its_files) {
  world w;
  const auto node = w.start_node();
  const auto first = json::parse(w.berth({"acquire", "--scope", "a/b", "--json"}).out);
  BOOST_TEST(first["origin"] == "created");
  BOOST_TEST(first["embedded"] == false);
  const std::string id = first["id"];
  BOOST_TEST(json::parse(w.berth({"acquire", "a/b", "--json"}).out)["origin"] == "reused");
  BOOST_TEST(w.berth({"exec", id, "--", "echo out; echo err >&2; exit 5"}).status == 5);
  BOOST_TEST(w.berth({"write", id, note}, "one\ntwo\nthree\n").status == 0);
  BOOST_TEST(w.berth({"write", "a/b", note, "--append", "--content", "four\n"}).status == 0);
  BOOST_TEST(w.berth({"read", "--scope", "a/b", note}).out == "one\ntwo\nthree\nfour\n");
  BOOST_TEST(w.berth({"read", id, note, "--lines", "2:3"}).out == "two\nthree");
  const auto content = json::parse(w.berth({"read", id, note, "--json"}).out);
  BOOST_TEST(content["content"] == "one\ntwo\nthree\nfour\n");
  BOOST_TEST(w.berth({"ls", id, "/mnt/user-data/workspace"}).out
             == "/mnt/user-data/workspace/deep/\n/mnt/user-data/workspace/deep/note\n");
  BOOST_TEST(w.berth({"ls", id, "/mnt/user-data/workspace", "--depth", "1"}).out == "/mnt/user-data/workspace/deep/\n");
  const auto list = json::parse(w.berth({"list", "--json"}).out)["sandboxes"];
  BOOST_REQUIRE(list.size() == 1u);
  BOOST_TEST(list[0]["state"] == "active");
  BOOST_TEST(list[0]["scope"] == "a/b");
  BOOST_TEST(json::parse(w.berth({"release", id, "--json"}).out)["state"] == "warm");
  const auto parked = w.berth({"exec", id, "--", "true"});
  BOOST_TEST(parked.status == 125);
  BOOST_TEST(holds(parked.err, "berth acquire"), parked.err);
  const auto again = json::parse(w.berth({"acquire", "a/b", "--json"}).out);
  BOOST_TEST(again["origin"] == "reclaimed");
  BOOST_TEST(again["instance"] == first["instance"]);
  BOOST_TEST(holds(w.berth({"list"}).out, id));
  const auto status = json::parse(w.berth({"status", "--json"}).out);
  BOOST_TEST(status["slots_used"] == 1);
  BOOST_TEST(status["backend"]["kind"] == "local");
  BOOST_TEST(json::parse(w.berth({"destroy", id, "--json"}).out)["outcome"] == "closed");
  BOOST_TEST(w.berth({"destroy", id}).status == 1);
  BOOST_TEST(json::parse(w.berth({"list", "--json"}).out)["sandboxes"].empty());
  BOOST_TEST(json::parse(w.berth({"acquire", "a/b", "--json"}).out)["origin"] == "created");
  BOOST_TEST(w.berth({"read", "a/b", note}).out == "one\ntwo\nthree\nfour\n");
}

BOOST_AUTO_TEST_CASE(file_errors_say_what_and_where) {
  world w;
  const auto node = w.start_node();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  const auto missing = w.berth({"read", "a/b", "/mnt/user-data/workspace/none"});
  BOOST_TEST(missing.status == 1);
  BOOST_TEST(holds(missing.err, "no such file"), missing.err);
  BOOST_TEST(holds(missing.err, "/mnt/user-data/workspace/none"), missing.err);
  BOOST_TEST(w.berth({"ls", "a/b", "/mnt/user-data/none"}).status == 1);
  BOOST_TEST(w.berth({"read", "a/b", "/mnt/user-data/workspace/../../../etc/passwd"}).status == 1);
  const auto code = json::parse(w.berth({"read", "a/b", "/mnt/user-data/workspace", "--json"}).out);
  BOOST_TEST(code["error"]["code"] == "is_a_directory");
  BOOST_TEST(w.berth({"release", "nobody/x"}).status == 0);
  BOOST_TEST(w.berth({"read", "nobody/x", note}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_text_is_read_as_bytes_and_names_are_printed_without_control_bytes) {
  world w;
  const auto node = w.start_node();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  const std::string file = "/mnt/user-data/workspace/b";
  BOOST_TEST(w.berth({"exec", "a/b", "--",
                      "cd /mnt/user-data/workspace; printf '\\377\\000x' > b; touch \"$(printf "
                      "'e\\033[2Je')\""})
                 .status
             == 0);
  const auto text = w.berth({"read", "a/b", file});
  BOOST_TEST(text.status == 1);
  BOOST_TEST(holds(text.err, "--bytes"), text.err);
  BOOST_TEST((w.berth({"read", "a/b", file, "--bytes"}).out == std::string{"\xff\0x", 3}));
  const auto document = json::parse(w.berth({"read", "a/b", file, "--bytes", "--json"}).out);
  BOOST_TEST(document["content"] == "/wB4");
  BOOST_TEST(document["content_encoding"] == "base64");
  const auto names = w.berth({"ls", "a/b", "/mnt/user-data/workspace"}).out;
  BOOST_TEST(holds(names, "/e\\x1b[2Je\n"), names);
}

BOOST_AUTO_TEST_CASE(ctrl_c_while_a_node_does_not_answer_ends_at_once) {
  world w;
  const auto node = w.start_node();
  node->signal(SIGSTOP);
  const auto p = w.start({"list"}, {}, program::err_to::terminal);
  BOOST_TEST(p->complains("connecting to the node"));
  const auto before = std::chrono::steady_clock::now();
  p->signal(SIGINT);
  BOOST_TEST(p->wait().status == 130);
  BOOST_TEST((std::chrono::steady_clock::now() - before < milliseconds{1500}));
  node->signal(SIGCONT);
}

BOOST_AUTO_TEST_CASE(run_against_a_node_streams_and_leaves_the_sandbox_as_it_was_found) {
  world w;
  const auto node = w.start_node();
  const auto p = w.start({"run", "--scope", "a/b", "--", "echo early; while [ ! -e go ]; do sleep 0.05; done; exit 4"});
  BOOST_TEST(p->prints("early\n"));
  BOOST_TEST(w.berth({"write", "a/b", "/mnt/user-data/workspace/go"}, "x").status == 0);
  BOOST_TEST(p->wait().status == 4);
  BOOST_TEST(json::parse(w.berth({"list", "--json"}).out)["sandboxes"][0]["state"] == "warm");
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  BOOST_TEST(w.berth({"run", "--scope", "a/b", "--", "true"}).status == 0);
  BOOST_TEST(json::parse(w.berth({"list", "--json"}).out)["sandboxes"][0]["state"] == "active");
}

BOOST_AUTO_TEST_CASE(ctrl_c_of_run_ends_its_command_on_the_node) {
  world w;
  const auto node = w.start_node();
  const auto sleep = long_sleep();
  const auto p = w.start({"run", "--scope", "a/b", "--", "echo begun; " + sleep});
  BOOST_TEST(p->prints("begun"));
  p->signal(SIGINT);
  BOOST_TEST(p->wait(seconds{15}).status == 130);
  BOOST_TEST(eventually([&] {
    for (const auto& line : w.processes(sleep))
      if (holds(line, sleep))
        return false;
    return true;
  }));
  BOOST_TEST(json::parse(w.berth({"list", "--json"}).out)["sandboxes"][0]["state"] == "warm");
}

BOOST_AUTO_TEST_CASE(ex12_commands_at_once_in_one_sandbox_get_each_its_own_output_and_status) {
  world w;
  const auto node = w.start_node();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  std::vector<std::unique_ptr<program>> running;
  for (int i = 0; i < 10; ++i) {
    const auto n = std::to_string(i);
    running.push_back(w.start({"exec", "a/b", "--", "echo " + n + "; sleep 0.2; echo e" + n + " >&2; exit " + n}));
  }
  for (int i = 0; i < 10; ++i) {
    const auto x = running[static_cast<std::size_t>(i)]->wait();
    BOOST_TEST(x.status == i);
    BOOST_TEST(x.out == std::to_string(i) + "\n");
    BOOST_TEST(x.err == "e" + std::to_string(i) + "\n");
  }
}

BOOST_AUTO_TEST_CASE(le5_ten_acquires_at_once_for_one_scope_get_one_sandbox) {
  world w;
  const auto node = w.start_node();
  std::vector<std::unique_ptr<program>> running;
  for (int i = 0; i < 10; ++i)
    running.push_back(w.start({"acquire", "a/b", "--json"}));
  std::set<std::string> instances;
  for (const auto& p : running)
    instances.insert(json::parse(p->wait().out)["instance"].get<std::string>());
  BOOST_TEST(instances.size() == 1u);
  BOOST_TEST(json::parse(w.berth({"list", "--json"}).out)["sandboxes"].size() == 1u);
}

BOOST_AUTO_TEST_CASE(ex14_files_and_status_answer_while_a_command_sleeps) {
  world w;
  const auto node = w.start_node();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  const auto p = w.start({"exec", "a/b", "--", "echo begun; sleep 60"});
  BOOST_TEST(p->prints("begun"));
  BOOST_TEST(w.berth({"write", "a/b", note}, "x", seconds{5}).status == 0);
  BOOST_TEST(w.berth({"read", "a/b", note}, {}, seconds{5}).out == "x");
  BOOST_TEST(json::parse(w.berth({"list", "--json"}, {}, seconds{5}).out)["sandboxes"][0]["operations"] == 1);
}

BOOST_AUTO_TEST_CASE(sigterm_stops_in_order_and_leaves_nothing) {
  world w;
  auto node = w.start_node();
  const auto sleep = long_sleep();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  BOOST_TEST(w.berth({"exec", "a/b", "--", "(" + sleep + " >/dev/null 2>&1 &)"}).status == 0);
  BOOST_TEST(!w.processes(sleep).empty());
  node->signal(SIGTERM);
  const auto x = node->wait(seconds{25});
  BOOST_TEST(x.status == 0, x.err);
  BOOST_TEST(w.nothing_left(sleep));
  BOOST_TEST(sandbox_directories(w) == 0u);
  BOOST_TEST(w.berth({"list"}).status == 1); // --node names a place where nothing listens now
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_the_node_at_once_and_leaves_no_process) {
  world w;
  auto node = w.start_node();
  const auto sleep = long_sleep();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  const auto p = w.start({"exec", "a/b", "--", "trap '' TERM INT; echo begun; while true; do " + sleep + "; done"});
  BOOST_TEST(p->prints("begun"));
  BOOST_TEST(eventually([&] {
    node->signal(SIGINT);
    const auto status = node->wait(milliseconds{1}).status;
    return status == 130 || status == 0; // 0: the orderly stop was quicker than the second signal
  }));
  BOOST_TEST(w.nothing_left(sleep));
}

BOOST_AUTO_TEST_CASE(or1_a_killed_node_leaves_no_process_and_its_successor_starts_clean) {
  world w;
  auto node = w.start_node();
  const auto sleep = long_sleep();
  BOOST_TEST(w.berth({"acquire", "a/b"}).status == 0);
  const auto p = w.start({"exec", "a/b", "--", "echo begun; " + sleep});
  BOOST_TEST(p->prints("begun"));
  node->signal(SIGKILL);
  BOOST_TEST(node->wait().status == 128 + SIGKILL);
  const auto orphan = p->wait(seconds{20});
  BOOST_TEST(orphan.status == 125);
  BOOST_TEST(holds(orphan.err, "berth: "), orphan.err);
  BOOST_TEST(w.nothing_left(sleep));
  const auto successor = w.start_node();
  BOOST_TEST(eventually([&] { return sandbox_directories(w) == 0; }));
  BOOST_TEST(json::parse(w.berth({"acquire", "a/b", "--json"}).out)["origin"] == "created");
}

BOOST_AUTO_TEST_CASE(a_second_node_on_the_same_port_is_refused_and_the_first_goes_on) {
  world w;
  const auto node = w.start_node();
  const world other;
  const auto config =
      other.file("same-port.yaml", "node: {listen: \"" + w.address() + "\"}\nsandbox: {local: {isolation: none}}\n");
  const auto x = other.berth({"node", "--config", config, "--data-dir", other.data_dir()});
  BOOST_TEST(x.status == 1);
  BOOST_TEST(holds(x.err, "already running: " + w.address()), x.err);
  BOOST_TEST(w.berth({"status"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_second_node_on_the_same_data_directory_is_refused_and_names_the_first) {
  world w;
  const auto node = w.start_node();
  const auto x = w.berth({"node"});
  BOOST_TEST(x.status == 1);
  BOOST_TEST(holds(x.err, "already running"), x.err);
  BOOST_TEST(holds(x.err, std::to_string(node->pid())), x.err);
  BOOST_TEST(w.berth({"status"}).status == 0);
}

BOOST_AUTO_TEST_CASE(what_listens_and_is_no_node_is_told_apart_from_nothing_that_listens) {
  const world w;
  const auto nothing = w.berth({"list", "--node", "127.0.0.1:1"});
  BOOST_TEST(nothing.status == 1);
  BOOST_TEST(holds(nothing.err, "berth node"), nothing.err);
  // RE1: a port that accepts and never speaks.
  const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  BOOST_REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0);
  BOOST_REQUIRE(::listen(fd, 8) == 0);
  BOOST_REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const auto silent = w.berth({"list", "--node", "127.0.0.1:" + std::to_string(ntohs(at.sin_port))});
  BOOST_TEST(silent.status == 1);
  BOOST_TEST(holds(silent.err, "berth node"), silent.err);
  BOOST_TEST((silent.elapsed < seconds{10}));
  ::close(fd);
}

BOOST_AUTO_TEST_SUITE_END()
