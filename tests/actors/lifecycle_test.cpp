// A whole node under virtual time: provider, sandboxes, pool, capacity, heartbeat and reconciler against a world of
// containers.
#include <limits>
#include <set>

#include <boost/test/unit_test.hpp>

#include "actors/scope.hpp"
#include "tests/actors/world.hpp"

using namespace berth;
using namespace berth::test;

BOOST_FIXTURE_TEST_SUITE(lifecycle, virtual_world)

BOOST_AUTO_TEST_CASE(an_acquire_creates_and_the_next_one_after_a_release_gets_it_back_warm) {
  start();
  const auto first = acquire("alice");
  BOOST_REQUIRE(first.ok());
  BOOST_TEST(to_string(first.value().origin) == "created");
  BOOST_TEST(to_string(lease_of(first.value().id).state) == "owned");
  const auto back = release(first.value().id);
  BOOST_REQUIRE(back.ok());
  BOOST_TEST(to_string(back.value().state) == "warm");
  const auto again = acquire("alice");
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(to_string(again.value().origin) == "reclaimed");
  BOOST_TEST(again.value().instance.value == first.value().instance.value);
  BOOST_TEST(world->created.size() == 1U);
}

BOOST_AUTO_TEST_CASE(LE5_fifty_acquires_at_once_for_one_scope_share_one_sandbox) {
  start();
  std::vector<pending<acquired>> all;
  for (int i = 0; i < 50; ++i)
    all.push_back(send<acquired>(provider, acquire_sandbox{{"alice", "t"}}));
  pass(1s);
  std::set<std::string> instances;
  for (const auto& a : all) {
    BOOST_REQUIRE(a.ok());
    instances.insert(a.value().instance.value);
  }
  BOOST_TEST(instances.size() == 1U);
  BOOST_TEST(world->created.size() == 1U);
}

BOOST_AUTO_TEST_CASE(two_scopes_never_share_a_sandbox) {
  start();
  BOOST_TEST(acquire("alice").value().instance.value != acquire("bob").value().instance.value);
  BOOST_TEST(acquire("alice", "t2").value().instance.value != acquire("alice", "t").value().instance.value);
}

BOOST_AUTO_TEST_CASE(a_bad_scope_is_refused_by_name_and_nothing_is_created) {
  start();
  const auto a = ask<acquired>(provider, acquire_sandbox{{"..", "t"}});
  BOOST_TEST(to_string(a.code()) == "invalid_scope");
  BOOST_TEST(a.text() == "invalid scope: user holds '.' at position 1; only A-Z a-z 0-9 _ - are allowed");
  BOOST_TEST(world->created.empty());
}

BOOST_AUTO_TEST_CASE(PO1_a_container_removed_behind_our_back_is_replaced_on_the_next_acquire) {
  start();
  const auto id = acquire("alice").value().id;
  release(id);
  world->running.clear();
  const auto again = acquire("alice");
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(to_string(again.value().origin) == "created");
  BOOST_TEST(world->created.size() == 2U);
  BOOST_TEST(node().slots_used == 1);
}

BOOST_AUTO_TEST_CASE(A6_a_probe_that_cannot_tell_keeps_the_sandbox) {
  start();
  const auto id = acquire("alice").value().id;
  release(id);
  world->probes_unknown = true;
  const auto again = acquire("alice");
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(to_string(again.value().origin) == "reclaimed");
}

BOOST_AUTO_TEST_CASE(W2_the_oldest_parked_sandbox_is_evicted_first_and_active_ones_never) {
  options.replicas = 3;
  start();
  const auto a = acquire("a").value(), b = acquire("b").value();
  acquire("c");
  release(b.id);
  pass(1s);
  release(a.id);
  BOOST_REQUIRE(acquire("d").ok());
  BOOST_TEST(world->destroyed == std::vector<std::string>{b.instance.value}, boost::test_tools::per_element());
  BOOST_REQUIRE(acquire("e").ok());
  BOOST_TEST(world->destroyed.back() == a.instance.value);
  BOOST_TEST(world->most_at_once == 3U);
}

BOOST_AUTO_TEST_CASE(PO4_waiters_for_a_slot_are_served_in_order_and_nothing_is_handed_out_twice) {
  options.replicas = 10;
  options.acquire_timeout = 600s;
  start();
  std::vector<pending<acquired>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(send<acquired>(provider, acquire_sandbox{{"u" + std::to_string(i), "t"}}));
    settle();
  }
  std::set<std::string> seen;
  std::size_t served = 0;
  for (int round = 0; round < 100 && served < all.size(); ++round) {
    pass(2s);
    // Those that are served form a prefix: nobody overtakes.
    for (; served < all.size() && all[served].ready(); ++served) {
      BOOST_REQUIRE(all[served].ok());
      BOOST_TEST(seen.insert(all[served].value().instance.value).second);
      send<released>(provider, release_sandbox{all[served].value().id});
    }
    for (auto i = served; i < all.size(); ++i)
      BOOST_REQUIRE(!all[i].ready());
  }
  BOOST_TEST(served == all.size());
  BOOST_TEST(world->most_at_once == 10U);
}

BOOST_AUTO_TEST_CASE(an_acquire_that_finds_no_slot_fails_after_its_time_with_what_to_do) {
  options.replicas = 1;
  options.acquire_timeout = 30s;
  start();
  acquire("a");
  const auto b = ask<acquired>(provider, acquire_sandbox{{"b", "t"}}, 40s);
  BOOST_TEST(to_string(b.code()) == "capacity_exceeded");
  BOOST_TEST(b.text().find("sandbox.replicas") != std::string::npos);
  BOOST_TEST(node().slots_used == 1);
  BOOST_TEST(to_string(lease_of(id_of({"b", "t"})).state) == "absent");
  BOOST_TEST(node().tracked == 1);
}

BOOST_AUTO_TEST_CASE(the_overflow_policies_reject_burst_and_soft_do_what_they_say) {
  const auto with = [](overflow_policy policy, std::int32_t burst) {
    virtual_world w;
    w.options.replicas = 1;
    w.options.overflow = policy;
    w.options.burst_limit = burst;
    w.start();
    std::string result;
    for (const auto* user : {"a", "b", "c"})
      result += w.acquire(user).ok() ? '+' : '-';
    return result;
  };
  BOOST_TEST(with(overflow_policy::reject, 0) == "+--");
  BOOST_TEST(with(overflow_policy::burst, 1) == "++-");
  BOOST_TEST(with(overflow_policy::soft, 0) == "+++");
}

BOOST_AUTO_TEST_CASE(a_waiter_is_served_as_soon_as_somebody_parks) {
  options.replicas = 1;
  start();
  const auto a = acquire("a").value();
  const auto b = send<acquired>(provider, acquire_sandbox{{"b", "t"}});
  pass(5s);
  BOOST_TEST(!b.ready());
  release(a.id);
  pass(1s);
  BOOST_TEST(b.ok());
  BOOST_TEST(world->most_at_once == 1U);
}

BOOST_AUTO_TEST_CASE(PO5_a_sandbox_acquired_just_before_its_idle_limit_is_not_reaped) {
  options.idle_timeout = 600s;
  start();
  const auto a = acquire("a").value();
  release(a.id);
  pass(599s);
  BOOST_REQUIRE(acquire("a").ok());
  pass(120s);
  BOOST_TEST(world->destroyed.empty());
  BOOST_TEST(to_string(status_of(a.id).state) == "active");
}

BOOST_AUTO_TEST_CASE(W4_a_parked_sandbox_is_reaped_after_its_idle_limit_and_not_before) {
  start();
  const auto a = acquire("a").value();
  release(a.id);
  pass(590s);
  BOOST_TEST(world->destroyed.empty());
  pass(130s);
  BOOST_TEST(world->destroyed.size() == 1U);
  BOOST_TEST(node().slots_used == 0);
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(to_string(lease_of(a.id).state) == "absent");
}

BOOST_AUTO_TEST_CASE(K0594_an_idle_timeout_of_zero_keeps_everything_and_renewal_goes_on) {
  options.idle_timeout = 0s;
  start();
  const auto a = acquire("a").value();
  release(a.id);
  pass(7200s);
  BOOST_TEST(world->destroyed.empty());
  BOOST_TEST(to_string(lease_of(a.id).state) == "owned", "R2: renewal does not hang on the reaper");
}

BOOST_AUTO_TEST_CASE(PO6_a_command_in_silence_is_activity_however_long_it_runs) {
  options.idle_timeout = 60s;
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  const auto command = send<executed>(handle, execute{"sleep 600000", {}, {}, {}, nullptr, {}});
  pass(599s);
  BOOST_TEST(!command.ready());
  BOOST_TEST(world->destroyed.empty());
  pass(2s);
  BOOST_TEST(command.ok());
  pass(200s); // idle now, and active: nobody came back for it
  BOOST_TEST(world->destroyed.size() == 1U);
}

BOOST_AUTO_TEST_CASE(LE9_an_acquire_that_meets_an_eviction_gets_a_new_sandbox_not_the_dying_one) {
  options.replicas = 1;
  world->stop_time = 5s;
  start();
  const auto a = acquire("a").value();
  release(a.id);
  const auto b = send<acquired>(provider, acquire_sandbox{{"b", "t"}});
  pass(1s); // a's stop is under way
  BOOST_TEST(to_string(status_of(a.id).state) == "closing");
  const auto again = send<acquired>(provider, acquire_sandbox{{"a", "t"}});
  pass(6s);
  BOOST_REQUIRE(b.ok());
  release(b.value().id);
  pass(20s);
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(again.value().instance.value != a.instance.value);
  BOOST_TEST(to_string(again.value().origin) == "created");
}

BOOST_AUTO_TEST_CASE(EX14_status_is_answered_at_once_while_a_create_hangs) {
  world->create_time = 50s;
  start();
  const auto a = send<acquired>(provider, acquire_sandbox{{"a", "t"}});
  pass(10s);
  const auto list = send<tracked_list>(provider, list_tracked{});
  settle(); // no time passes
  BOOST_REQUIRE(list.ready());
  BOOST_TEST(to_string(list.value().sandboxes.at(0).state) == "opening");
  pass(45s);
  BOOST_TEST(a.ok());
}

BOOST_AUTO_TEST_CASE(a_release_ends_what_still_runs_and_counts_it) {
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  const auto command = send<executed>(handle, execute{"sleep 600000", {}, {}, {}, nullptr, {}});
  settle();
  const auto back = release(a.id);
  BOOST_REQUIRE(back.ok());
  BOOST_TEST(back.value().interrupted == 1);
  BOOST_REQUIRE(command.ok());
  BOOST_TEST(to_string(command.value().status.kind) == "cancelled");
  BOOST_TEST(world->running_commands[a.instance.value] == 0);
}

BOOST_AUTO_TEST_CASE(an_operation_on_a_parked_sandbox_says_to_acquire_it) {
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  release(a.id);
  const auto read = ask<file_content>(handle, read_file{"/x", {}, {}});
  BOOST_TEST(to_string(read.code()) == "sandbox_not_active");
}

BOOST_AUTO_TEST_CASE(a_release_of_an_unknown_id_is_no_error) {
  start();
  const auto r = release({"ffffffffffffffff"});
  BOOST_REQUIRE(r.ok());
  BOOST_TEST(to_string(r.value().state) == "absent");
}

BOOST_AUTO_TEST_CASE(R30_without_a_store_an_acquire_fails_and_nothing_is_left) {
  start();
  gate->down = true;
  const auto a = acquire("a");
  BOOST_TEST(to_string(a.code()) == "store_unavailable");
  BOOST_TEST(world->created.empty());
  gate->down = false;
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(acquire("a").ok());
}

BOOST_AUTO_TEST_CASE(R29_an_outage_of_the_store_evicts_nobody) {
  start();
  const auto a = acquire("a").value();
  gate->down = true;
  pass(600s);
  BOOST_TEST(to_string(status_of(a.id).state) == "active");
  gate->down = false;
  pass(31s);
  BOOST_TEST(to_string(lease_of(a.id).state) == "owned");
}

BOOST_AUTO_TEST_CASE(a_store_that_never_answers_bounds_every_acquire) {
  start();
  gate->silent = true;
  const auto a = ask<acquired>(provider, acquire_sandbox{{"a", "t"}}, 6s);
  BOOST_TEST(to_string(a.code()) == "store_unavailable");
}

BOOST_AUTO_TEST_CASE(a_failed_create_gives_the_slot_and_the_lease_back) {
  options.replicas = 1;
  start();
  world->fail_creates = 1;
  const auto a = acquire("a");
  BOOST_TEST(to_string(a.code()) == "backend_failure");
  pass(1s);
  BOOST_TEST(node().slots_used == 0);
  BOOST_TEST(to_string(lease_of(id_of({"a", "t"})).state) == "absent");
  BOOST_TEST(acquire("b").ok());
}

BOOST_AUTO_TEST_CASE(a_failed_stop_keeps_the_sandbox_tracked_and_is_tried_again) {
  start();
  const auto a = acquire("a").value();
  release(a.id);
  world->fail_stops = 1;
  const auto first = ask<close_answer>(provider, close_sandbox{a.id});
  BOOST_TEST(to_string(first.value().outcome) == "failed");
  BOOST_TEST(to_string(status_of(a.id).state) == "warm");
  BOOST_TEST(node().slots_used == 1);
  const auto second = ask<close_answer>(provider, close_sandbox{a.id});
  BOOST_TEST(to_string(second.value().outcome) == "closed");
  BOOST_TEST(world->running.empty());
}

BOOST_AUTO_TEST_CASE(R6_the_teardown_marker_is_held_for_a_stop_longer_than_the_lease) {
  world->stop_time = 100s;
  options.renewal_interval = 10s;
  options.ttl_multiplier = 2;
  leases = spawn_memory_store(system, options.lease_time());
  store = system.spawn(gated_store, leases, gate);
  start();
  const auto a = acquire("a").value();
  const auto closing = send<close_answer>(provider, close_sandbox{a.id});
  for (int i = 0; i < 9; ++i) {
    pass(10s);
    BOOST_TEST(to_string(lease_of(a.id).state) == "destroying");
  }
  pass(15s);
  BOOST_REQUIRE(closing.ok());
  BOOST_TEST(to_string(closing.value().outcome) == "closed");
  BOOST_TEST(to_string(lease_of(a.id).state) == "absent");
}

BOOST_AUTO_TEST_CASE(R3_a_sandbox_taken_by_a_peer_is_forgotten_and_left_alone) {
  start();
  const auto a = acquire("a").value();
  ask<lease_answer>(leases, take_lease{a.id, {"host:peer"}});
  pass(31s);
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(node().slots_used == 0);
  BOOST_TEST(world->running.size() == 1U);
  BOOST_TEST(world->destroyed.empty());
}

BOOST_AUTO_TEST_CASE(R4_an_acquire_is_refused_while_a_peer_tears_the_sandbox_down) {
  start();
  ask<lease_answer>(leases, claim_lease{id_of({"a", "t"}), {"host:peer"}, true});
  const auto a = acquire("a");
  BOOST_TEST(to_string(a.code()) == "being_destroyed");
  BOOST_TEST(world->created.empty());
}

BOOST_AUTO_TEST_CASE(an_untracked_container_is_discovered_instead_of_created_twice) {
  options.reconcile_interval = 3600s;
  start();
  pass(1s);
  const scope owner{"a", "t"};
  world->running.emplace("i-old", instance{id_of(owner), {"i-old"}, owner, {1}, 0, "default"});
  const auto a = acquire("a");
  BOOST_REQUIRE(a.ok());
  BOOST_TEST(to_string(a.value().origin) == "discovered");
  BOOST_TEST(a.value().instance.value == "i-old");
  BOOST_TEST(world->created.empty());
  BOOST_TEST(node().slots_used == 1);
}

BOOST_AUTO_TEST_CASE(an_orphan_is_adopted_at_once_by_a_store_that_sees_no_peers) {
  const scope owner{"a", "t"};
  world->running.emplace("i-old", instance{id_of(owner), {"i-old"}, owner, {1}, 0, "default"});
  start();
  pass(1s);
  BOOST_TEST(node().parked == 1);
  const auto a = acquire("a");
  BOOST_TEST(to_string(a.value().origin) == "reclaimed");
}

BOOST_AUTO_TEST_CASE(R26_R28_an_orphan_is_adopted_only_after_a_full_lease_time_seen_unowned) {
  gate->cross_process = true;
  options.reconcile_interval = 10s;
  const scope owner{"a", "t"};
  world->running.emplace("i-old", instance{id_of(owner), {"i-old"}, owner, {1}, 0, "default"});
  start();
  pass(115s);
  BOOST_TEST(node().tracked == 0);
  pass(20s);
  BOOST_TEST(node().parked == 1);
}

BOOST_AUTO_TEST_CASE(R27_the_grace_starts_anew_when_an_owner_is_seen) {
  gate->cross_process = true;
  options.reconcile_interval = 10s;
  const scope owner{"a", "t"};
  world->running.emplace("i-old", instance{id_of(owner), {"i-old"}, owner, {1}, 0, "default"});
  start();
  pass(100s);
  ask<lease_answer>(leases, take_lease{id_of(owner), {"host:peer"}});
  pass(15s);
  ask<lease_answer>(leases, release_lease{id_of(owner), {"host:peer"}});
  pass(100s);
  BOOST_TEST(node().tracked == 0);
  pass(40s);
  BOOST_TEST(node().parked == 1);
}

BOOST_AUTO_TEST_CASE(PO3_a_container_of_another_fleet_is_never_touched) {
  const scope owner{"a", "t"};
  world->running.emplace("i-x", instance{id_of(owner), {"i-x"}, owner, {1}, 0, "other"});
  start();
  pass(300s);
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(to_string(acquire("a").value().origin) == "created");
  BOOST_TEST(world->running.contains("i-x"));
}

BOOST_AUTO_TEST_CASE(H3_an_adopted_sandbox_of_unknown_scope_is_taken_by_the_first_acquire_of_its_id) {
  const scope owner{"a", "t"};
  world->running.emplace("i-old", instance{id_of(owner), {"i-old"}, {}, {1}, 0, "default"});
  start();
  pass(1s);
  BOOST_TEST(to_string(acquire("a").value().origin) == "reclaimed");
}

BOOST_AUTO_TEST_CASE(shutdown_destroys_what_is_ours_active_and_parked_and_refuses_what_comes) {
  start();
  const auto a = acquire("a").value();
  acquire("b");
  release(a.id);
  const auto report = ask<shutdown_report>(provider, shutdown_provider{10'000});
  BOOST_REQUIRE(report.ok());
  BOOST_TEST(report.value().closed == 2);
  BOOST_TEST(report.value().left.empty());
  BOOST_TEST(world->running.empty());
  BOOST_TEST(to_string(acquire("c").code()) == "shutting_down");
}

BOOST_AUTO_TEST_CASE(R36_a_create_that_returns_after_shutdown_began_is_destroyed_not_handed_out) {
  world->create_time = 5s;
  start();
  const auto a = send<acquired>(provider, acquire_sandbox{{"a", "t"}});
  pass(1s);
  const auto report = send<shutdown_report>(provider, shutdown_provider{20'000});
  pass(10s);
  BOOST_REQUIRE(report.ok());
  BOOST_TEST(!a.ok());
  BOOST_TEST(world->created.size() == 1U);
  BOOST_TEST(world->running.empty());
}

BOOST_AUTO_TEST_CASE(a_shutdown_is_answered_within_its_bound_and_names_what_is_left) {
  start();
  const auto a = acquire("a").value();
  world->silent = true;
  const auto report = ask<shutdown_report>(provider, shutdown_provider{3'000}, 4s);
  BOOST_REQUIRE(report.ok());
  BOOST_REQUIRE(report.value().left.size() == 1U);
  BOOST_TEST(report.value().left.front().value == a.id.value);
}

BOOST_AUTO_TEST_CASE(a_reset_destroys_everything_and_the_provider_stays_usable) {
  start();
  acquire("a");
  BOOST_TEST(ask<shutdown_report>(provider, reset_provider{}).value().closed == 1);
  BOOST_TEST(world->running.empty());
  BOOST_TEST(acquire("a").ok());
}

BOOST_AUTO_TEST_CASE(a_sandbox_actor_that_dies_frees_its_slot_and_its_scope) {
  options.replicas = 1;
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  caf::anon_send_exit(handle, caf::exit_reason::kill);
  pass(1s);
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(node().slots_used == 0);
  BOOST_TEST(acquire("b").ok());
}

BOOST_AUTO_TEST_CASE(absent_sandboxes_leave_no_actor_behind) {
  options.replicas = 2;
  start();
  const auto before = system.registry().running();
  for (int i = 0; i < 50; ++i) {
    const auto a = acquire("u" + std::to_string(i)).value();
    ask<close_answer>(provider, close_sandbox{a.id});
  }
  BOOST_TEST(node().tracked == 0);
  BOOST_TEST(system.registry().running() == before);
}

BOOST_AUTO_TEST_CASE(a_shutdown_does_not_wait_for_those_who_stand_in_line_for_a_slot) {
  options.replicas = 1;
  start();
  acquire("a");
  const auto b = send<acquired>(provider, acquire_sandbox{{"b", "t"}});
  pass(1s);
  const auto report = ask<shutdown_report>(provider, shutdown_provider{5'000}, 2s);
  BOOST_REQUIRE(report.ok());
  BOOST_TEST(report.value().left.empty());
  BOOST_TEST(b.ready());
  BOOST_TEST(!b.ok());
  BOOST_TEST(world->running.empty());
}

BOOST_AUTO_TEST_CASE(a_release_that_crosses_a_teardown_leaves_no_actor_behind) {
  start();
  const auto a = acquire("a").value();
  const auto closing = send<close_answer>(provider, close_sandbox{a.id});
  for (int i = 0; i < 20; ++i) {
    send<released>(provider, release_sandbox{a.id});
    pass(1ms);
  }
  pass(1s);
  BOOST_TEST(closing.ok());
  BOOST_TEST(node().tracked == 0);
}

BOOST_AUTO_TEST_CASE(a_release_is_bounded_even_when_an_operation_does_not_end_when_told) {
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  world->deaf_commands = true;
  const auto command = send<executed>(handle, execute{"sleep 600000", {}, {}, {}, nullptr, {}});
  settle();
  const auto back = ask<released>(provider, release_sandbox{a.id}, options.release_grace + 4s);
  BOOST_REQUIRE(back.ok());
  BOOST_TEST(to_string(back.value().state) == "warm");
  pass(1ms);
  BOOST_REQUIRE(command.ready());
  BOOST_TEST(to_string(command.code()) == "cancelled");
}

BOOST_AUTO_TEST_CASE(a_timeout_out_of_range_is_refused_with_its_range) {
  start();
  const auto a = acquire("a").value();
  const auto handle = ask<sandbox_actor>(provider, get_sandbox{a.id}).value();
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    const auto r = ask<executed>(handle, execute{"true", {}, ms, {}, nullptr, {}});
    BOOST_TEST(to_string(r.code()) == "invalid_argument");
    BOOST_TEST(r.text().find("between 1 and") != std::string::npos);
  }
  BOOST_TEST(status_of(a.id).operations == 0);
}

BOOST_AUTO_TEST_SUITE_END()
