// Tracing: what one request causes is one trace, timeouts and late replies included, and it shows no secret.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "actors/tracer.hpp"
#include "tests/messages/virtual_system.hpp"

using namespace berth;
using namespace std::chrono_literals;

namespace {

using front_actor = actor_of<acquired(acquire_sandbox)>;
using middle_actor = actor_of<acquired(acquire_sandbox), void(tick)>;
using back_actor = actor_of<lease_answer(take_lease), executed(execute), file_written(write_file), void(tick)>;

struct back_state {
  back_state() = default;
  static inline const char* name = "back";
  std::deque<answer<lease_answer>> line; // takes that wait for a tick
};

// Answers a take at once, or with `slow` when it is ticked: then all that wait, from one handler.
back_actor::behavior_type back(self_ptr<back_actor, back_state> self, bool slow) {
  return {[self, slow](const take_lease&) -> caf::result<lease_answer> {
            answer<lease_answer> reply{self};
            if (slow)
              self->state.line.push_back(reply);
            else
              reply.ok(lease_answer{lease_outcome::granted, lease_state::owned, {}, {}});
            return reply;
          },
          [](const execute& x) {
            executed result;
            result.out = bytes{x.env.values.at("TOKEN")};
            return result;
          },
          [](const write_file& x) { return file_written{static_cast<std::int64_t>(x.content.data.size())}; },
          [self](tick) {
            for (const auto& reply : self->state.line)
              reply.ok(lease_answer{lease_outcome::granted, lease_state::owned, {}, {}});
            self->state.line.clear();
          }};
}

struct middle_state {
  middle_state() = default;
  static inline const char* name = "middle";
};

middle_actor::behavior_type middle(self_ptr<middle_actor, middle_state> self, back_actor dest) {
  return {[self, dest](const acquire_sandbox& x) -> caf::result<acquired> {
            answer<acquired> reply{self};
            ask(
                self, dest, 5s, take_lease{sandbox_id{x.owner_scope.user}, node_id{"n"}},
                [self, reply, x](const lease_answer&) {
                  self->send(self, tick{7}); // a plain send, caused by the response
                  reply.ok(acquired{{}, x.owner_scope, acquire_origin::created, {}, {}});
                },
                [reply](caf::error& e) { reply.fail(e); });
            return reply;
          },
          [](tick) {}};
}

struct front_state {
  front_state() = default;
  static inline const char* name = "front";
};

front_actor::behavior_type front(self_ptr<front_actor, front_state> self, middle_actor dest) {
  return {[self, dest](const acquire_sandbox& x) { return self->delegate(dest, x); }};
}

struct client_state {
  client_state() = default;
  static inline const char* name = "client";
};

struct fixture : test::virtual_system {
  int values = 0;
  int errors = 0;

  template <class Handle, class Request, class Reply>
  void request(const Handle& dest, Request request, Reply*) {
    system.spawn([=, this](untyped_self_ptr<client_state> self) {
      ask(
          self, dest, 60s, request, [this](const Reply&) { ++values; }, [this](caf::error&) { ++errors; });
    });
    settle();
  }
  void acquire(const front_actor& dest, const std::string& user = "u") {
    request(dest, acquire_sandbox{scope{user, "t"}}, static_cast<acquired*>(nullptr));
  }

  front_actor chain(bool slow) {
    back_ = system.spawn(back, slow);
    middle_ = system.spawn(middle, back_);
    front_ = system.spawn(front, middle_);
    settle();
    return front_;
  }

  ~fixture() {
    for (const auto& actor : {caf::actor_cast<caf::actor>(front_), caf::actor_cast<caf::actor>(middle_),
                              caf::actor_cast<caf::actor>(back_)})
      if (actor)
        end(actor);
  }

  back_actor back_;
  middle_actor middle_;
  front_actor front_;
};

using events = std::vector<trace_event>;

const trace_event& only(const events& all, const std::string& receiver, const std::string& message) {
  const trace_event* found = nullptr;
  for (const auto& e : all)
    if (e.receiver_name == receiver && e.message.rfind(message, 0) == 0) {
      BOOST_TEST_REQUIRE((found == nullptr), "twice: " << receiver << " " << message);
      found = &e;
    }
  BOOST_TEST_REQUIRE((found != nullptr), "none: " << receiver << " " << message);
  return *found;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(tracing, fixture)

BOOST_AUTO_TEST_CASE(nothing_is_recorded_while_it_is_off) {
  auto ring = std::make_shared<trace_ring>();
  acquire(chain(false));
  BOOST_TEST(values == 1);
  BOOST_TEST(ring->take().empty());
  { trace_recorder recorder; }
  acquire(front_);
  BOOST_TEST(values == 2);
  BOOST_TEST(ring->take().empty());
}

BOOST_AUTO_TEST_CASE(a_chain_of_actors_shares_one_trace_with_its_parents_right) {
  const auto dest = chain(false);
  trace_recorder recorder;
  acquire(dest);
  const auto all = recorder.ring().take();
  const auto& first = only(all, "front", "acquire_sandbox");
  const auto& second = only(all, "middle", "acquire_sandbox");
  const auto& take = only(all, "back", "take_lease");
  const auto& granted = only(all, "middle", "lease_answer");
  const auto& sent = only(all, "middle", "tick");
  const auto& reply = only(all, "client", "acquired");
  for (const auto* e : {&first, &second, &take, &granted, &sent, &reply}) {
    BOOST_TEST(e->trace == first.span);
    BOOST_TEST(e->handled);
    BOOST_TEST(e->queued_ns <= e->started_ns);
    BOOST_TEST(e->started_ns <= e->ended_ns);
  }
  BOOST_TEST(first.parent == 0u);
  BOOST_TEST(second.parent == first.span);
  BOOST_TEST(take.parent == second.span);
  BOOST_TEST(granted.parent == take.span);
  BOOST_TEST(granted.answers == take.span);
  BOOST_TEST(sent.parent == granted.span);
  BOOST_TEST(reply.parent == granted.span);
  BOOST_TEST(reply.answers == first.span);
  BOOST_TEST((first.kind == trace_kind::request && reply.kind == trace_kind::response));
  BOOST_TEST((sent.kind == trace_kind::sent));
  BOOST_TEST(std::string{first.sender_name} == "client");
  BOOST_TEST(std::string{take.sender_name} == "middle");
}

BOOST_AUTO_TEST_CASE(a_timeout_belongs_to_the_request_that_was_not_answered) {
  const auto dest = chain(true);
  trace_recorder recorder;
  acquire(dest);
  pass(5s);
  BOOST_TEST(errors == 1);
  const auto all = recorder.ring().take();
  const auto& first = only(all, "front", "acquire_sandbox");
  const auto& take = only(all, "back", "take_lease");
  // The sentinel of the clock is an event of its own; the timeout of the request is the one that answers it.
  const auto timeout = std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.answers == take.span; });
  BOOST_TEST_REQUIRE((timeout != all.end()));
  BOOST_TEST(timeout->trace == first.span);
  BOOST_TEST(timeout->message.rfind("error: ", 0) == 0u);
  BOOST_TEST(timeout->queued_ns - take.queued_ns == std::int64_t{5'000'000'000});
  const auto& reply = only(all, "client", "error");
  BOOST_TEST(reply.trace == first.span);
  BOOST_TEST(reply.parent == timeout->span);
}

BOOST_AUTO_TEST_CASE(replies_that_one_handler_gives_to_many_lead_back_to_their_own_requests) {
  const auto dest = chain(true);
  trace_recorder recorder;
  acquire(dest, "a");
  acquire(dest, "b");
  caf::anon_send(back_, tick{});
  settle();
  BOOST_TEST(values == 2);
  const auto all = recorder.ring().take();
  const auto traces = find_traces(all, "acquire_sandbox");
  BOOST_TEST_REQUIRE(traces.size() == 2u);
  for (const auto trace : traces) {
    events chosen;
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const auto& e) { return e.trace == trace; });
    BOOST_TEST(chosen.size() == 6u);
    BOOST_TEST(only(chosen, "middle", "lease_answer").answers == only(chosen, "back", "take_lease").span);
  }
}

BOOST_AUTO_TEST_CASE(a_message_to_an_ended_actor_is_seen_as_not_handled) {
  const auto dest = chain(false);
  end(dest);
  trace_recorder recorder;
  acquire(dest);
  BOOST_TEST(errors == 1);
  const auto all = recorder.ring().take();
  const auto lost = std::find_if(all.begin(), all.end(), [](const auto& e) { return !e.handled; });
  BOOST_TEST_REQUIRE((lost != all.end()));
  BOOST_TEST(std::string{lost->receiver_name} == "front");
  BOOST_TEST(render_trace(all, lost->trace).find("not handled") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_full_ring_keeps_the_latest_and_counts_what_it_drops) {
  const auto dest = chain(false);
  trace_recorder recorder{10};
  for (int i = 0; i < 10; ++i)
    acquire(dest);
  BOOST_TEST(values == 10);
  const auto dropped = recorder.ring().dropped();
  BOOST_TEST(dropped > 0u);
  const auto all = recorder.ring().take();
  BOOST_TEST(all.size() == 10u);
  BOOST_TEST(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.span < b.span; }));
  BOOST_TEST(all.back().span >= dropped);
  acquire(dest);
  BOOST_TEST(recorder.ring().dropped() == dropped); // what was taken made room
  BOOST_TEST(!recorder.ring().take().empty());
}

BOOST_AUTO_TEST_CASE(environment_values_file_bytes_and_output_never_appear) {
  chain(false);
  trace_recorder recorder;
  execute command;
  command.command = "printenv TOKEN";
  command.env.values["TOKEN"] = "s3cret";
  request(back_, command, static_cast<executed*>(nullptr));
  request(back_, write_file{"/mnt/user-data/workspace/key", bytes{"s3cret"}, false},
          static_cast<file_written*>(nullptr));
  BOOST_TEST(values == 2);
  const auto all = recorder.ring().take();
  BOOST_TEST(all.size() >= 4u);
  only(all, "back", "execute");
  std::string text;
  for (const auto& e : all)
    text += render_trace(all, e.trace) + e.message;
  BOOST_TEST(text.find("printenv TOKEN") != std::string::npos);
  BOOST_TEST(text.find("s3cret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_rendered_trace_reads_like_calls) {
  const auto dest = chain(false);
  trace_recorder recorder;
  acquire(dest);
  const auto all = recorder.ring().take();
  const auto traces = find_traces(all, "acquire_sandbox");
  BOOST_TEST_REQUIRE(traces.size() == 1u);
  const auto text = render_trace(all, traces.front());
  BOOST_TEST_MESSAGE(text);
  std::size_t at = 0;
  for (const auto* line :
       {": 6 messages to 4 actors in ", "  client -> front", "    front >> middle", "      middle -> back",
        "      back => middle", "      middle -> middle", "  middle => client"}) {
    const auto found = text.find(line, at);
    BOOST_TEST(found != std::string::npos, "no '" << line << "' after " << at << " in\n" << text);
    at = found == std::string::npos ? at : found + 1;
  }
  BOOST_TEST(text.find("waited 0.000, ran 0.000") != std::string::npos); // on a virtual clock
  BOOST_TEST(render_trace(all, 0).empty());
}

BOOST_AUTO_TEST_CASE(long_messages_are_cut) {
  chain(false);
  trace_recorder recorder;
  request(back_, write_file{std::string(100'000, 'x'), {}, false}, static_cast<file_written*>(nullptr));
  for (const auto& e : recorder.ring().take())
    BOOST_TEST(e.message.size() < 500u);
}

BOOST_AUTO_TEST_SUITE_END()
