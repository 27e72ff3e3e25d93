// A node as a library call: what starts, what is said, and that nothing is left after it.
#include <algorithm>

#include "messages/log.hpp"
#include "runtime/logging.hpp"
#include "runtime/registry.hpp"
#include "tests/runtime/system.hpp"

using namespace berth;
using namespace berth::test;

BOOST_AUTO_TEST_SUITE(node_life)

BOOST_FIXTURE_TEST_CASE(a_started_node_leases_a_sandbox_runs_a_command_and_gets_it_back_warm, prepared_system) {
  const scratch_settings settings;
  const auto n = started(system, settings);
  const auto first = ask<acquired>(n->provider(), acquire_sandbox{{"ann", "t1"}});
  REQUIRE_VALUE(first);
  BOOST_TEST((first->origin == acquire_origin::created));
  const auto sandbox = ask<sandbox_actor>(n->provider(), get_sandbox{first->id});
  REQUIRE_VALUE(sandbox);
  execute command;
  command.command = "echo hello";
  const auto ran = ask<executed>(*sandbox, command);
  REQUIRE_VALUE(ran);
  BOOST_TEST(ran->out.data == "hello\n");
  const auto parked = ask<released>(n->provider(), release_sandbox{first->id});
  REQUIRE_VALUE(parked);
  BOOST_TEST((parked->state == sandbox_state::warm));
  const auto again = ask<acquired>(n->provider(), acquire_sandbox{{"ann", "t1"}});
  REQUIRE_VALUE(again);
  BOOST_TEST((again->origin == acquire_origin::reclaimed));
  BOOST_TEST(again->instance.value == first->instance.value);
  const auto report = n->stop(10s);
  BOOST_TEST(report.closed == 1);
  BOOST_TEST(report.left.empty());
}

BOOST_FIXTURE_TEST_CASE(a_stopped_node_leaves_no_actor_and_answers_the_first_report_again, prepared_system) {
  const scratch_settings settings;
  const auto before = system.registry().running();
  auto n = started(system, settings);
  for (const auto* thread : {"t1", "t2", "t3"})
    BOOST_REQUIRE((ask<acquired>(n->provider(), acquire_sandbox{{"ann", thread}})));
  const auto provider = n->provider();
  const auto began = std::chrono::steady_clock::now();
  const auto first = n->stop(10s);
  BOOST_TEST((std::chrono::steady_clock::now() - began < 10s));
  BOOST_TEST(first.closed == 3);
  BOOST_TEST(ends(provider, 1s));
  const auto second = n->stop(10s);
  BOOST_TEST(second.closed == 3);
  n.reset();
  const auto refused = ask<acquired>(provider, acquire_sandbox{{"ann", "t1"}}, 2s);
  BOOST_TEST(!refused);
  // Helpers end a moment after the provider: bounded, without a sleep.
  caf::scoped_actor self{system};
  auto left = system.registry().running();
  for (auto tries = 0; tries < 500 && left > before + 1; ++tries, left = system.registry().running())
    self->receive(caf::after(10ms) >> [] {});
  BOOST_TEST(left <= before + 1); // this scoped actor
}

BOOST_FIXTURE_TEST_CASE(a_node_that_nobody_stopped_stops_in_its_destructor, prepared_system) {
  const scratch_settings settings;
  provider_actor provider;
  {
    const auto n = started(system, settings);
    provider = n->provider();
    BOOST_REQUIRE((ask<acquired>(provider, acquire_sandbox{{"ann", "t1"}})));
  }
  BOOST_TEST(ends(provider, 1s));
}

BOOST_FIXTURE_TEST_CASE(node_ids_name_the_host_and_are_new_at_every_start, prepared_system) {
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    const scratch_settings settings;
    const auto n = started(system, settings);
    ids.push_back(n->id().value);
    const auto status = ask<node_status>(n->provider(), query_node{});
    BOOST_REQUIRE(status);
    BOOST_TEST(status->node.value == ids.back());
    BOOST_TEST(status->version == version());
    BOOST_TEST(status->backend.kind == "local");
    BOOST_TEST(status->slots == 3);
  }
  BOOST_TEST(ids[0] != ids[1]);
  for (const auto& id : ids) {
    const auto digits = id.substr(id.rfind(':') + 1);
    BOOST_TEST(digits.size() == 32U);
    BOOST_TEST(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
    BOOST_TEST(id.size() > 33U);
  }
}

BOOST_FIXTURE_TEST_CASE(the_start_says_what_was_chosen_and_warns_of_a_store_that_peers_cannot_see, prepared_system) {
  const scratch_settings settings;
  const scratch_directory logs;
  BOOST_REQUIRE(!start_logging({log_level::info, log_format::text, (logs / "a.log").string()}, nullptr));
  std::string detail;
  {
    const auto n = started(system, settings);
    detail = n->backend().detail;
  }
  stop_logging();
  const auto text = logs.read("a.log");
  BOOST_TEST(!detail.empty());
  BOOST_TEST(text.find("info    backend local: " + detail) != std::string::npos);
  BOOST_TEST(text.find("warning lease store memory: leases are kept in this process only") != std::string::npos);
  BOOST_TEST(text.find("node stopped; sandboxes closed: 0") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_configuration_filled_in_by_hand_is_refused_as_a_parsed_one_would_be, prepared_system) {
  scratch_settings settings;
  settings.sandbox.use = "dokcer";
  auto refused = node::start(system, settings);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::config_invalid));
  BOOST_TEST(context_of(refused.error()) == "sandbox.use: unknown backend 'dokcer'; known: local");
  settings.sandbox.use = "local";
  settings.sandbox.ownership.type = "redis";
  refused = node::start(system, settings);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::config_invalid));
}

#ifdef BERTH_GUEST
BOOST_FIXTURE_TEST_CASE(a_second_node_on_the_same_data_directory_is_refused_and_the_first_lives_on, prepared_system) {
  const scratch_settings settings;
  const auto n = started(system, settings);
  prepared_system other;
  const auto refused = node::start(other.system, settings);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((code_of(refused.error()) == errc::already_running));
  BOOST_TEST(context_of(refused.error()).find(settings.directory.path().string()) != std::string::npos);
  BOOST_TEST(static_cast<bool>(ask<acquired>(n->provider(), acquire_sandbox{{"ann", "t1"}})));
  n->stop(10s);
  BOOST_TEST(static_cast<bool>(node::start(other.system, settings)));
}

BOOST_FIXTURE_TEST_CASE(a_data_directory_that_cannot_be_used_is_an_error_and_leaves_no_actor, prepared_system) {
  scratch_settings settings;
  settings.sandbox.local.data_dir = settings.directory.write("a_file", "").string();
  const auto refused = node::start(system, settings);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(context_of(refused.error()).find("a_file") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(e1_commands_see_the_filtered_environment_and_the_configured_one, prepared_system) {
  const variable token{"BERTH_TEST_TOKEN", "hidden"};
  const variable plain{"BERTH_TEST_PLAIN", "shown"};
  scratch_settings settings;
  settings.sandbox.environment["BERTH_TEST_ADDED_KEY"] = "configured";
  const auto n = started(system, settings);
  const auto lease = ask<acquired>(n->provider(), acquire_sandbox{{"ann", "t1"}});
  REQUIRE_VALUE(lease);
  const auto sandbox = ask<sandbox_actor>(n->provider(), get_sandbox{lease->id});
  BOOST_REQUIRE(sandbox);
  execute command;
  command.command = "echo \"[$BERTH_TEST_TOKEN][$BERTH_TEST_PLAIN][$BERTH_TEST_ADDED_KEY]\"";
  const auto ran = ask<executed>(*sandbox, command);
  REQUIRE_VALUE(ran);
  BOOST_TEST(ran->out.data == "[][shown][configured]\n");
}
#endif

BOOST_AUTO_TEST_SUITE_END()
