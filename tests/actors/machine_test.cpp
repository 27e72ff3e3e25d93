// The state machine driven by hand: every cell of the table, and the windows that the table exists for.
#include <algorithm>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/actors/fake_port.hpp"

using namespace berth;
using berth::test::bench_machine;

namespace {

using driver = void (bench_machine::*)();

struct place {
  const char* name;
  sandbox_state state;
  driver go;
  std::vector<event> awaits; // the answers its step may get
};

std::vector<place> all_places() {
  using b = bench_machine;
  using enum event;
  const std::vector<event> lease{granted, refused, unanswered};
  return {
      {"absent", sandbox_state::absent, nullptr, {}},
      {"opening/taking", sandbox_state::opening, &b::acquire, lease},
      {"opening/finding", sandbox_state::opening, &b::to_finding, {found, not_found}},
      {"opening/accounting", sandbox_state::opening, &b::to_accounting, {slot}},
      {"opening/reserving", sandbox_state::opening, &b::to_reserving, {slot, no_slot}},
      {"opening/creating", sandbox_state::opening, &b::to_creating, {created, create_failed, create_unknown}},
      {"opening/probing", sandbox_state::opening, &b::to_probing, {alive, dead}},
      {"opening/adopting", sandbox_state::opening, &b::to_adopting, lease},
      {"opening/unpublishing", sandbox_state::opening, &b::to_unpublishing, {unmarked}},
      {"active", sandbox_state::active, &b::to_active, {}},
      {"parking/renewing", sandbox_state::parking, &b::to_parking, {}},
      {"parking/draining", sandbox_state::parking, &b::to_draining, {}},
      {"warm", sandbox_state::warm, &b::to_warm, {}},
      {"closing/marking", sandbox_state::closing, &b::to_marking, lease},
      {"closing/stopping", sandbox_state::closing, &b::to_stopping, {stopped, stop_failed}},
      {"closing/settling", sandbox_state::closing, &b::to_settling, {}},
      {"closing/unmarking", sandbox_state::closing, &b::to_unmarking, {unmarked}},
  };
}

// Delivers an event as the actor would.
void deliver(bench_machine& b, event what) {
  auto& m = b.m;
  switch (what) {
  case event::acquire:
    return b.acquire();
  case event::release:
    return m.release({});
  case event::close:
    return m.close(close_reason::requested, {});
  case event::reap:
    return m.reap(b.port.clock_ns, close_reason::idle, {});
  case event::reap_idle:
    b.port.clock_ns += 1'000'000'000;
    return m.reap_idle(500'000'000);
  case event::adopt:
    return m.adopt(bench_machine::made(), {});
  case event::renew_tick:
    return m.renew_tick();
  case event::operate:
    (void)m.begin_operation();
    return;
  case event::drained:
    return m.end_operation();
  case event::granted:
  case event::refused:
  case event::unanswered:
    return m.on_lease(m.current_step(), what, bench_machine::lease());
  case event::renewed:
  case event::lapsed:
  case event::lost:
  case event::renew_unanswered:
    m.renew_tick();
    return m.on_renewal(what);
  case event::found:
    return m.on_found(m.current_step(), bench_machine::made());
  case event::created:
    return m.on_created(m.current_step(), bench_machine::made());
  case event::beat:
    return m.on_beat();
  case event::beat_answered:
    return m.on_beat_answer(event::granted);
  default:
    return m.on_answer(m.current_step(), what, make_error(errc::backend_failure, "test"));
  }
}

bool is_step_answer(event what) {
  using enum event;
  static const std::set<event> answers{granted,       refused,        unanswered, found,       not_found,
                                       alive,         dead,           slot,       no_slot,     created,
                                       create_failed, create_unknown, stopped,    stop_failed, unmarked};
  return answers.contains(what);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_event_has_its_defined_answer_in_every_state) {
  std::set<std::pair<sandbox_state, event>> reached;
  for (const auto& where : all_places()) {
    for (std::size_t e = 0; e < event_count; ++e) {
      const auto what = static_cast<event>(e);
      bench_machine b;
      if (where.go != nullptr)
        (b.*where.go)();
      BOOST_TEST_CONTEXT(where.name << " <- " << to_string(what)) {
        BOOST_REQUIRE_EQUAL(to_string(b.m.state()), to_string(where.state));
        BOOST_REQUIRE_EQUAL(b.m.defects(), 0U);
        const auto& cell = lookup(where.state, what);
        const auto awaited = std::find(where.awaits.begin(), where.awaits.end(), what) != where.awaits.end();
        // An answer with the current step number comes only to the step that asked for it.
        if (is_step_answer(what) && !awaited && cell.what != action::defect)
          continue;
        deliver(b, what);
        reached.emplace(where.state, what);
        if (cell.what == action::defect) {
          BOOST_TEST(b.m.defects() > 0U);
          BOOST_TEST(to_string(b.m.state()) == to_string(where.state));
        } else {
          BOOST_TEST(b.m.defects() == 0U, (b.port.complaints.empty() ? "" : b.port.complaints.front()));
          BOOST_TEST((bit(b.m.state()) & cell.next) != 0, "went to " << to_string(b.m.state()));
        }
      }
    }
  }
  for (std::size_t s = 0; s < sandbox_state_count; ++s)
    for (std::size_t e = 0; e < event_count; ++e)
      BOOST_TEST(reached.contains({static_cast<sandbox_state>(s), static_cast<event>(e)}),
                 "cell never walked: " << to_string(static_cast<sandbox_state>(s)) << " x "
                                       << to_string(static_cast<event>(e)));
}

BOOST_AUTO_TEST_CASE(ownership_is_taken_before_anything_is_looked_for_or_created) {
  bench_machine b;
  b.to_creating();
  BOOST_TEST(b.port.asked == (std::vector<std::string>{"take", "find", "reserve", "create"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(R18_a_lost_renewal_during_an_acquire_is_ignored) {
  bench_machine b;
  b.to_warm();
  b.m.renew_tick(); // sent before the take
  b.acquire();
  b.m.on_renewal(event::lost, {lease_outcome::lost, lease_state::owned, {"peer"}, {8}});
  BOOST_TEST(to_string(b.m.state()) == "opening");
  b.granted();
  b.say(event::alive);
  BOOST_TEST(to_string(b.m.state()) == "active");
  BOOST_TEST(b.port.count("departed") == 0);
}

BOOST_AUTO_TEST_CASE(R17_a_renewal_sent_before_the_last_take_is_history) {
  bench_machine b;
  b.to_warm();
  b.m.renew_tick();
  b.acquire();
  b.granted();
  b.say(event::alive);
  b.m.on_renewal(event::lost, {lease_outcome::lost, lease_state::owned, {"peer"}, {8}});
  BOOST_TEST(to_string(b.m.state()) == "active");
}

BOOST_AUTO_TEST_CASE(a_lost_lease_is_forgotten_without_touching_the_instance) {
  bench_machine b;
  b.to_active();
  b.m.renew_tick();
  b.m.on_renewal(event::lost, {lease_outcome::lost, lease_state::owned, {"peer"}, {8}});
  BOOST_TEST(to_string(b.m.state()) == "absent");
  BOOST_TEST(b.port.count("free_slot") == 1);
  BOOST_TEST(b.port.count("claim_destroy") == 0);
}

BOOST_AUTO_TEST_CASE(R25_a_lapsed_lease_is_claimed_again_and_nothing_is_evicted) {
  bench_machine b;
  b.to_active();
  b.m.renew_tick();
  b.m.on_renewal(event::lapsed);
  BOOST_TEST(b.port.last() == "reclaim");
  b.m.on_renewal(event::renewed, {lease_outcome::granted, lease_state::owned, {"me"}, {9}});
  BOOST_TEST(to_string(b.m.state()) == "active");
  BOOST_TEST(b.m.status().epoch.value == 9U);
}

BOOST_AUTO_TEST_CASE(R29_an_outage_in_either_renewal_round_trip_keeps_the_sandbox) {
  bench_machine b;
  b.to_active();
  b.m.renew_tick();
  b.m.on_renewal(event::renew_unanswered);
  b.m.renew_tick();
  b.m.on_renewal(event::lapsed);
  b.m.on_renewal(event::renew_unanswered);
  BOOST_TEST(to_string(b.m.state()) == "active");
  b.m.renew_tick();
  BOOST_TEST(b.port.last() == "renew");
}

BOOST_AUTO_TEST_CASE(R30_an_acquire_that_cannot_publish_hands_nothing_out) {
  bench_machine b;
  b.acquire();
  b.m.on_lease(b.m.current_step(), event::unanswered);
  BOOST_TEST(to_string(b.m.state()) == "absent");
  BOOST_TEST(b.port.count("create") == 0);
}

BOOST_AUTO_TEST_CASE(a_warm_sandbox_stays_warm_when_the_store_cannot_answer_its_acquire) {
  bench_machine b;
  b.to_warm();
  b.acquire();
  b.m.on_lease(b.m.current_step(), event::unanswered);
  BOOST_TEST(to_string(b.m.state()) == "warm");
  BOOST_TEST(b.m.holds_slot());
}

BOOST_AUTO_TEST_CASE(LE9_a_reap_decided_before_an_acquire_is_refused_after_it) {
  bench_machine b;
  b.to_warm();
  const auto parked_at = b.port.clock_ns;
  b.acquire();
  b.granted();
  b.say(event::alive);
  b.m.reap(parked_at, close_reason::evicted, {});
  BOOST_TEST(to_string(b.m.state()) == "active");
  b.port.clock_ns += 5;
  b.m.release({});
  b.m.on_renewal(event::renewed);
  b.m.reap(parked_at, close_reason::evicted, {});
  BOOST_TEST(to_string(b.m.state()) == "warm", "parked again since: not the same moment");
}

BOOST_AUTO_TEST_CASE(LE9_an_acquire_behind_a_teardown_waits_and_starts_cold) {
  bench_machine b;
  b.to_stopping();
  b.acquire();
  BOOST_TEST(to_string(b.m.state()) == "closing");
  b.say(event::stopped);
  b.say(event::unmarked);
  BOOST_TEST(to_string(b.m.state()) == "opening");
  BOOST_TEST(b.port.last() == "take");
  b.granted();
  BOOST_TEST(b.port.last() == "find", "the stopped instance is not asked for");
}

BOOST_AUTO_TEST_CASE(R6_R7_the_marker_is_held_for_the_stop_and_released_after_the_last_re_claim) {
  bench_machine b;
  b.to_stopping();
  BOOST_TEST(b.port.count("schedule_beat") == 1);
  b.m.on_beat();
  BOOST_TEST(b.port.count("beat") == 1);
  b.m.on_beat_answer(event::granted);
  b.m.on_beat();
  BOOST_TEST(b.port.count("beat") == 2);
  b.say(event::stopped); // the second re-claim is still out
  BOOST_TEST(b.port.count("release_lease") == 0);
  b.m.on_beat_answer(event::granted);
  BOOST_TEST(b.port.count("release_lease") == 1);
  b.say(event::unmarked);
  b.m.on_beat(); // a late reminder beats no more
  BOOST_TEST(b.port.count("beat") == 2);
  BOOST_TEST(to_string(b.m.state()) == "absent");
}

BOOST_AUTO_TEST_CASE(R8_a_failed_stop_releases_the_marker_and_keeps_the_sandbox_tracked) {
  bench_machine b;
  b.to_stopping();
  b.say(event::stop_failed, make_error(errc::timed_out));
  BOOST_TEST(b.port.last() == "release_lease");
  b.say(event::unmarked);
  BOOST_TEST(to_string(b.m.state()) == "warm");
  BOOST_TEST(b.m.holds_slot());
  BOOST_TEST(b.port.count("free_slot") == 0);
}

BOOST_AUTO_TEST_CASE(R31_a_refused_claim_leaves_the_sandbox_running_and_tracked) {
  for (const auto what : {event::refused, event::unanswered}) {
    bench_machine b;
    b.to_marking();
    b.m.on_lease(b.m.current_step(), what);
    BOOST_TEST(to_string(b.m.state()) == "warm");
    BOOST_TEST(b.port.count("destroy i-1@7") == 0);
  }
}

BOOST_AUTO_TEST_CASE(PO1_a_dead_instance_is_cleared_under_a_claim_and_the_acquire_starts_cold) {
  bench_machine b;
  b.to_probing();
  b.say(event::dead);
  BOOST_TEST(b.port.last() == "claim_destroy");
  b.granted();
  BOOST_TEST(b.port.last() == "destroy i-1@7");
  b.say(event::stopped);
  b.say(event::unmarked);
  b.granted();
  b.say(event::not_found);
  b.say(event::slot);
  b.m.on_created(b.m.current_step(), bench_machine::made("i-2"));
  BOOST_TEST(to_string(b.m.state()) == "active");
  BOOST_TEST(b.m.current_instance().value == "i-2");
}

BOOST_AUTO_TEST_CASE(LE7_a_peer_that_took_the_lease_during_a_create_is_overruled_before_the_hand_out) {
  bench_machine b;
  b.to_creating();
  b.m.renew_tick();
  b.m.on_renewal(event::lost, {lease_outcome::lost, lease_state::owned, {"peer"}, {8}});
  BOOST_TEST(to_string(b.m.state()) == "opening");
  b.m.on_created(b.m.current_step(), bench_machine::made());
  BOOST_TEST(to_string(b.m.state()) == "opening");
  BOOST_TEST(b.port.last() == "take");
  b.m.on_lease(b.m.current_step(), event::granted, bench_machine::lease(9));
  b.say(event::alive);
  BOOST_TEST(to_string(b.m.state()) == "active");
}

BOOST_AUTO_TEST_CASE(a_create_without_an_answer_is_looked_for_and_removed_under_its_epoch) {
  bench_machine b;
  b.to_creating();
  b.say(event::create_unknown, make_error(errc::timed_out));
  BOOST_TEST(b.port.last() == "claim_destroy");
  b.granted();
  BOOST_TEST(b.port.last() == "destroy @7");
  b.say(event::stopped);
  b.say(event::unmarked);
  BOOST_TEST(to_string(b.m.state()) == "absent");
  BOOST_TEST(b.port.count("free_slot") == 1);
}

BOOST_AUTO_TEST_CASE(LE8_a_close_that_arrives_while_parking_ends_in_one_teardown) {
  bench_machine b;
  b.to_parking();
  b.m.close(close_reason::requested, {});
  b.m.close(close_reason::requested, {});
  b.m.on_renewal(event::renewed);
  BOOST_TEST(to_string(b.m.state()) == "closing");
  b.granted();
  b.say(event::stopped);
  b.say(event::unmarked);
  BOOST_TEST(to_string(b.m.state()) == "absent");
  BOOST_TEST(b.port.count("destroy i-1@7") == 1);
}

BOOST_AUTO_TEST_CASE(LE3_an_acquire_that_meets_a_parking_waits_for_it) {
  bench_machine b;
  b.to_draining();
  b.acquire();
  BOOST_TEST(to_string(b.m.state()) == "parking");
  b.m.end_operation();
  b.m.on_renewal(event::renewed);
  BOOST_TEST(to_string(b.m.state()) == "opening");
  b.granted();
  b.say(event::alive);
  BOOST_TEST(to_string(b.m.state()) == "active");
  BOOST_TEST(b.port.count("create") == 1);
}

BOOST_AUTO_TEST_CASE(answers_of_a_left_step_are_dropped) {
  bench_machine b;
  b.to_finding();
  const auto old = b.m.current_step();
  b.say(event::not_found);
  b.m.on_found(old, bench_machine::made("late"));
  b.m.on_answer(old, event::not_found);
  BOOST_TEST(b.m.defects() == 0U);
  BOOST_TEST(b.m.current_instance().empty());
}

BOOST_AUTO_TEST_CASE(an_instance_of_another_scope_under_the_same_short_id_is_a_collision) {
  bench_machine b;
  b.to_finding();
  auto other = bench_machine::made();
  other.owner_scope = {"bob", "t9"};
  b.m.on_found(b.m.current_step(), other);
  BOOST_TEST(b.port.last() == "release_lease");
  b.say(event::unmarked);
  BOOST_TEST(to_string(b.m.state()) == "absent");
  BOOST_TEST(b.port.count("account") == 0);
}

BOOST_AUTO_TEST_CASE(PO6_an_operation_in_flight_is_activity) {
  bench_machine b;
  b.to_active();
  BOOST_TEST(!b.m.begin_operation());
  b.port.clock_ns += 600'000'000'000;
  b.m.reap_idle(60'000'000'000);
  BOOST_TEST(to_string(b.m.state()) == "active");
  b.m.end_operation();
  b.m.reap_idle(60'000'000'000);
  BOOST_TEST(to_string(b.m.state()) == "active", "its end counts as activity too");
  b.port.clock_ns += 60'000'000'001;
  b.m.reap_idle(60'000'000'000);
  BOOST_TEST(to_string(b.m.state()) == "closing");
}
