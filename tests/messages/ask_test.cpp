// ask: every request ends within its bound, once, and a thousand of them cost the clock one entry.
#include <boost/test/unit_test.hpp>

#include <deque>
#include <string>
#include <vector>

#include "tests/messages/virtual_system.hpp"

using namespace berth;
using namespace std::chrono_literals;

namespace {

// Answers nothing until it is told to.
using silent_actor = actor_of<released(release_sandbox), void(tick)>;

struct silent_state {
  silent_state() = default;
  static inline const char* name = "silent";
  std::deque<answer<released>> kept;
};

silent_actor::behavior_type silent(self_ptr<silent_actor, silent_state> self) {
  return {[self](const release_sandbox&) -> caf::result<released> {
            answer<released> reply{self};
            self->state.kept.push_back(reply);
            return reply;
          },
          [self](tick) {
            for (const auto& reply : self->state.kept)
              reply.ok(released{});
            self->state.kept.clear();
          }};
}

// Asks once for each bound it is told, and notes how each request ended.
struct asker_state {
  asker_state() = default;
  static inline const char* name = "asker";
};

struct fixture : test::virtual_system {
  std::vector<std::string> log;
  caf::error last;
  silent_actor dest = system.spawn(silent);
  caf::actor asker = system.spawn(
      [](untyped_self_ptr<asker_state> self, fixture* test) -> caf::behavior {
        return {[self, test](std::int64_t bound_ms) {
          ask(
              self, test->dest, std::chrono::milliseconds{bound_ms}, release_sandbox{},
              [test, bound_ms](const released&) { test->log.push_back("value " + std::to_string(bound_ms)); },
              [test, bound_ms](caf::error& e) {
                test->last = e;
                test->log.push_back("error " + std::to_string(bound_ms));
              });
        }};
      },
      this);

  ~fixture() {
    end(asker);
    end(dest);
  }

  void ask_with_bound(std::int64_t ms) { caf::anon_send(asker, ms); }

  void answer_all() {
    caf::anon_send(dest, tick{});
    settle();
  }

  using lines = std::vector<std::string>;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(asks, fixture)

BOOST_AUTO_TEST_CASE(an_unanswered_request_ends_at_its_bound_and_not_before) {
  ask_with_bound(5'000);
  pass(4'999ms);
  BOOST_TEST(log.empty());
  pass(1ms);
  BOOST_TEST(log == lines{"error 5000"}, boost::test_tools::per_element());
  BOOST_TEST((last == caf::sec::request_timeout));
  BOOST_TEST((code_of(last) == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(a_late_answer_is_dropped) {
  ask_with_bound(5'000);
  pass(5'000ms);
  answer_all();
  BOOST_TEST(log == lines{"error 5000"}, boost::test_tools::per_element());
  ask_with_bound(1'000); // and the asker lives on
  settle();
  answer_all();
  BOOST_TEST(log.back() == "value 1000");
}

BOOST_AUTO_TEST_CASE(an_answer_in_time_is_the_only_ending) {
  ask_with_bound(5'000);
  pass(4'999ms);
  answer_all();
  pass(1h);
  BOOST_TEST(log == lines{"value 5000"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_earliest_of_several_bounds_fires_first) {
  for (const auto ms : {3'000, 1'000, 2'000, 5'000, 1'500})
    ask_with_bound(ms);
  pass(999ms);
  BOOST_TEST(log.empty());
  pass(1ms);
  BOOST_TEST(log == lines{"error 1000"}, boost::test_tools::per_element());
  pass(500ms);
  pass(500ms);
  BOOST_TEST((log == lines{"error 1000", "error 1500", "error 2000"}));
  pass(3'000ms);
  BOOST_TEST((log == lines{"error 1000", "error 1500", "error 2000", "error 3000", "error 5000"}));
}

BOOST_AUTO_TEST_CASE(a_short_bound_after_a_long_one_is_kept) {
  ask_with_bound(60'000);
  pass(1'000ms);
  ask_with_bound(10);
  pass(10ms);
  BOOST_TEST(log == lines{"error 10"}, boost::test_tools::per_element());
  pass(58'990ms);
  BOOST_TEST((log == lines{"error 10", "error 60000"}));
}

BOOST_AUTO_TEST_CASE(a_bound_that_was_met_does_not_shorten_the_next) {
  ask_with_bound(1'000);
  pass(500ms);
  answer_all();
  ask_with_bound(1'000);
  pass(999ms);
  BOOST_TEST(log == lines{"value 1000"}, boost::test_tools::per_element());
  pass(1ms);
  BOOST_TEST((log == lines{"value 1000", "error 1000"}));
}

BOOST_AUTO_TEST_CASE(ten_thousand_answered_requests_leave_a_few_clock_entries) {
  ask_with_bound(5'000);
  settle();
  const auto before = clock_entries();
  for (int i = 0; i < 10'000; ++i) {
    ask_with_bound(5'000);
    settle();
    answer_all();
  }
  BOOST_TEST(log.size() == 10'001u);
  BOOST_TEST(clock_entries() <= before + 2);
  BOOST_TEST(clock_entries() <= 4u);
}

BOOST_AUTO_TEST_CASE(ten_thousand_falling_bounds_do_not_pile_up_in_the_clock_for_ever) {
  for (std::int64_t ms = 11'000; ms > 1'000; --ms)
    ask_with_bound(ms);
  settle();
  answer_all();
  BOOST_TEST(log.size() == 10'000u);
  pass(11'000ms);
  BOOST_TEST(clock_entries() == 0u);
  BOOST_TEST(log.size() == 10'000u);
}

BOOST_AUTO_TEST_CASE(a_request_to_an_ended_actor_fails_at_once) {
  end(dest);
  ask_with_bound(5'000);
  settle();
  BOOST_TEST(log == lines{"error 5000"}, boost::test_tools::per_element());
  BOOST_TEST((code_of(last) == errc::sandbox_gone));
}

BOOST_AUTO_TEST_CASE(an_asker_that_ends_leaves_its_requests_behind_without_a_word) {
  ask_with_bound(5'000);
  settle();
  end(asker);
  answer_all();
  pass(1h);
  BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_SUITE_END()
