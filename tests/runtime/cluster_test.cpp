// Publishing a node on loopback and connecting to it.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "tests/runtime/system.hpp"

using namespace berth;
using namespace berth::test;

namespace {

// A listening socket that is no berth node.
class listener {
public:
  listener() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    BOOST_REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    BOOST_REQUIRE(listen(fd_, 4) == 0);
    BOOST_REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port = ntohs(at.sin_port);
  }
  ~listener() { close(fd_); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  void answer_one(const std::string& text) const {
    const auto peer = accept(fd_, nullptr, nullptr);
    BOOST_TEST(send(peer, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    shutdown(peer, SHUT_WR);
    for (char c = 0; recv(peer, &c, 1, 0) > 0;) {
    }
    close(peer);
  }

  std::uint16_t port = 0;

private:
  int fd_ = -1;
};

struct two_systems {
  prepared_system here;
  prepared_system there;
  scratch_settings settings;
};

caf::behavior stranger() {
  return {[](int x) { return x; }};
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster)

BOOST_FIXTURE_TEST_CASE(a_published_node_serves_another_actor_system, two_systems) {
  const auto n = started(here.system, settings);
  const auto port = n->publish("127.0.0.1", 0);
  REQUIRE_VALUE(port);
  BOOST_TEST(*port != 0);
  // Both systems are of one process: without node ids that differ, this could not even connect.
  const auto remote = connect(there.system, "127.0.0.1", *port);
  REQUIRE_VALUE(remote);
  const auto lease = there.ask<acquired>(*remote, acquire_sandbox{{"ann", "t1"}});
  REQUIRE_VALUE(lease);
  const auto sandbox = there.ask<sandbox_actor>(*remote, get_sandbox{lease->id});
  REQUIRE_VALUE(sandbox);
  execute command;
  command.command = "echo hello";
  const auto ran = there.ask<executed>(*sandbox, command);
  REQUIRE_VALUE(ran);
  BOOST_TEST(ran->out.data == "hello\n");
  const auto refused = there.ask<acquired>(*remote, acquire_sandbox{{"", "t1"}});
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::invalid_scope));
  BOOST_TEST(!context_of(refused.error()).empty());
}

BOOST_FIXTURE_TEST_CASE(a_taken_port_is_refused_by_name_and_a_free_one_still_works, two_systems) {
  const auto n = started(here.system, settings);
  const listener taken;
  const auto refused = n->publish("127.0.0.1", taken.port);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::already_running));
  BOOST_TEST(context_of(refused.error()).find("127.0.0.1:" + std::to_string(taken.port)) != std::string::npos);
  BOOST_TEST(static_cast<bool>(n->publish("127.0.0.1", 0)));
}

BOOST_FIXTURE_TEST_CASE(two_nodes_cannot_serve_on_one_port, two_systems) {
  const auto first = started(here.system, settings);
  const auto port = first->publish("127.0.0.1", 0);
  BOOST_REQUIRE(port);
  const scratch_settings other;
  const auto second = started(there.system, other);
  const auto refused = second->publish("127.0.0.1", *port);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::already_running));
}

BOOST_FIXTURE_TEST_CASE(a_stopped_node_gives_its_port_back_at_once, two_systems) {
  std::uint16_t port = 0;
  {
    const auto n = started(here.system, settings);
    port = *n->publish("127.0.0.1", 0);
    const auto remote = connect(there.system, "127.0.0.1", port);
    BOOST_REQUIRE(remote);
    n->stop(10s);
    BOOST_TEST(there.ends(*remote));
    const auto late = n->publish("127.0.0.1", 0);
    BOOST_REQUIRE(!late);
    BOOST_TEST((code_of(late.error()) == errc::shutting_down));
  }
  const auto next = started(here.system, settings);
  const auto again = next->publish("127.0.0.1", port);
  REQUIRE_VALUE(again);
  BOOST_TEST(*again == port);
}

BOOST_FIXTURE_TEST_CASE(an_address_that_others_could_reach_is_refused, two_systems) {
  const auto n = started(here.system, settings);
  const auto refused = n->publish("0.0.0.0", 0);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::invalid_argument));
  const auto dialled = connect(there.system, "192.0.2.1", 7411);
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(where_nothing_listens_the_answer_is_unreachable, prepared_system) {
  std::uint16_t port = 0;
  {
    const listener closed;
    port = closed.port;
  }
  const auto dialled = connect(system, "127.0.0.1", port);
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::unreachable));
  BOOST_TEST(context_of(dialled.error()).find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_listener_that_keeps_silent_is_given_up_within_the_bound, prepared_system) {
  const listener silent;
  const auto began = std::chrono::steady_clock::now();
  const auto dialled = connect(system, "127.0.0.1", silent.port, 200ms);
  BOOST_TEST((std::chrono::steady_clock::now() - began < 5s));
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::timed_out));
}

BOOST_FIXTURE_TEST_CASE(a_listener_that_speaks_something_else_is_no_berth_node, prepared_system) {
  const listener web;
  std::thread server{
      [&] { web.answer_one("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + std::string(200, ' ')); }};
  const auto dialled = connect(system, "127.0.0.1", web.port, 5s);
  server.join();
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::protocol_error));
}

BOOST_FIXTURE_TEST_CASE(an_actor_of_another_interface_is_no_provider, two_systems) {
  const auto other = here.system.spawn(stranger);
  const auto port = here.system.middleman().publish(other, 0, "127.0.0.1", true);
  BOOST_REQUIRE(port);
  const auto dialled = connect(there.system, "127.0.0.1", *port);
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::protocol_error));
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(a_program_of_another_protocol_version_is_told_apart) {
  prepared_system::prepared_config changed;
  changed.set("middleman.app-identifiers", std::vector<std::string>{"berth-0"});
  caf::actor_system old{changed};
  const auto other = old.spawn(stranger);
  const auto port = old.middleman().publish(other, 0, "127.0.0.1", true);
  BOOST_REQUIRE(port);
  prepared_system mine;
  const auto dialled = connect(mine.system, "127.0.0.1", *port);
  BOOST_REQUIRE(!dialled);
  BOOST_TEST((code_of(dialled.error()) == errc::protocol_error));
  BOOST_TEST(context_of(dialled.error()).find("another version") != std::string::npos);
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(a_system_without_a_middleman_says_how_to_get_one) {
  caf::actor_system_config bare;
  caf::actor_system system{bare};
  const auto dialled = connect(system, "127.0.0.1", 1);
  BOOST_REQUIRE(!dialled);
  BOOST_TEST(context_of(dialled.error()).find("berth::prepare") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
