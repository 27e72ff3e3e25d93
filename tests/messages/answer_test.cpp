// answer<T>: whoever asked is always answered, whatever becomes of the actor that owes the answer.
#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>

#include "tests/messages/virtual_system.hpp"

using namespace berth;
using namespace std::chrono_literals;

namespace {

using debtor_actor = actor_of<released(release_sandbox)>; // owes an answer

enum class fate { drop, keep, deliver, fail, both, copy, raise_before, raise_after };

struct debtor_state {
  debtor_state() = default;
  static inline const char* name = "debtor";
  answer<released> kept;
};

debtor_actor::behavior_type debtor(self_ptr<debtor_actor, debtor_state> self, fate what) {
  self->set_exception_handler([](std::exception_ptr&) { return make_error(errc::backend_failure, "thrown"); });
  return {[self, what](const release_sandbox& request) -> caf::result<released> {
    if (what == fate::raise_before)
      throw std::runtime_error("before a promise was made");
    answer<released> reply{self};
    switch (what) {
    case fate::drop:
      break;
    case fate::keep:
      self->state.kept = reply;
      break;
    case fate::both:
      reply.ok(released{request.id, sandbox_state::warm, 1});
      reply.fail(make_error(errc::cancelled));
      break;
    case fate::deliver:
      reply.ok(released{request.id, sandbox_state::warm, 1});
      break;
    case fate::fail:
      reply.fail(make_error(errc::cancelled, "on request"));
      break;
    case fate::copy: {
      // The first copy to go must not answer for the other.
      auto copy = reply; // NOLINT(performance-unnecessary-copy-initialization)
      self->state.kept = copy;
      break;
    }
    case fate::raise_after:
      self->state.kept = reply;
      throw std::runtime_error("with a promise kept");
    default:
      break;
    }
    return reply;
  }};
}

struct fixture : test::virtual_system {
  int answers = 0;
  std::optional<released> value;
  caf::error error;

  // Asks a debtor with CAF's own means and no bound: only the guard can end this.
  debtor_actor ask_debtor(fate what) {
    auto actor = system.spawn(debtor, what);
    system.spawn([this, actor](caf::event_based_actor* self) {
      self->request(actor, caf::infinite, release_sandbox{sandbox_id{"0123456789abcdef"}})
          .then(
              [this](const released& x) {
                ++answers;
                value = x;
              },
              [this](caf::error& e) {
                ++answers;
                error = e;
              });
    });
    settle();
    return actor;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(answers, fixture)

BOOST_AUTO_TEST_CASE(a_dropped_answer_is_answered_as_forgotten) {
  end(ask_debtor(fate::drop));
  BOOST_TEST(answers == 1);
  BOOST_TEST((code_of(error) == errc::promise_forgotten));
}

BOOST_AUTO_TEST_CASE(a_kept_answer_stays_open) {
  auto actor = ask_debtor(fate::keep);
  BOOST_TEST(answers == 0);
  end(actor);
}

BOOST_AUTO_TEST_CASE(an_actor_that_ends_answers_what_it_kept) {
  auto actor = ask_debtor(fate::keep);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  settle();
  BOOST_TEST(answers == 1);
  BOOST_TEST((code_of(error) == errc::promise_forgotten));
}

BOOST_AUTO_TEST_CASE(an_actor_that_is_killed_answers_what_it_kept) {
  end(ask_debtor(fate::keep));
  BOOST_TEST(answers == 1);
  BOOST_TEST((code_of(error) == errc::promise_forgotten));
}

BOOST_AUTO_TEST_CASE(an_actor_that_throws_answers_what_it_kept) {
  ask_debtor(fate::raise_after);
  BOOST_TEST(answers == 1);
  BOOST_TEST(!!error);
}

BOOST_AUTO_TEST_CASE(an_actor_that_throws_before_it_made_a_promise_answers_too) {
  ask_debtor(fate::raise_before);
  BOOST_TEST(answers == 1);
  BOOST_TEST(!!error);
}

BOOST_AUTO_TEST_CASE(the_first_answer_counts) {
  end(ask_debtor(fate::both));
  BOOST_TEST(answers == 1);
  BOOST_TEST_REQUIRE(value.has_value());
  BOOST_TEST(value->interrupted == 1);
}

BOOST_AUTO_TEST_CASE(a_value_is_delivered_once) {
  end(ask_debtor(fate::deliver));
  BOOST_TEST(answers == 1);
  BOOST_TEST_REQUIRE(value.has_value());
  BOOST_TEST((value->state == sandbox_state::warm));
}

BOOST_AUTO_TEST_CASE(an_error_is_delivered_with_its_context) {
  end(ask_debtor(fate::fail));
  BOOST_TEST(answers == 1);
  BOOST_TEST((code_of(error) == errc::cancelled));
  BOOST_TEST(context_of(error) == "on request");
}

BOOST_AUTO_TEST_CASE(only_the_last_copy_that_goes_answers) {
  auto actor = ask_debtor(fate::copy);
  BOOST_TEST(answers == 0);
  end(actor);
  BOOST_TEST(answers == 1);
  BOOST_TEST((code_of(error) == errc::promise_forgotten));
}

BOOST_AUTO_TEST_CASE(a_default_constructed_answer_owes_nothing) {
  answer<released> nobody;
  BOOST_TEST(!nobody.open());
  nobody.ok(released{});
  nobody.fail(make_error(errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()
