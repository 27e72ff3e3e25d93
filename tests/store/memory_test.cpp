// The lease truth table (spec: ownership.md section 2) against the memory store, under virtual time.
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "store/memory.hpp"
#include "tests/messages/virtual_system.hpp"

using namespace berth;
using namespace std::chrono_literals;

namespace {

const node_id me{"host:me"};
const node_id peer{"host:peer"};
const sandbox_id id{"00000000000000aa"};

constexpr auto lease_time = 120s;

struct fixture : test::virtual_system {
  store_actor store = spawn_memory_store(system, lease_time, 100);

  template <class Reply, class Request>
  Reply ask(Request request) {
    std::optional<Reply> reply;
    system.spawn([&reply, this, request](caf::event_based_actor* self) {
      self->request(store, caf::infinite, request).then([&reply](const Reply& x) { reply = x; });
    });
    settle();
    BOOST_REQUIRE(reply.has_value());
    return *reply;
  }

  ~fixture() { end(store); }

  lease_answer take(node_id who = me) { return ask<lease_answer>(take_lease{id, who}); }
  lease_answer claim(node_id who = me) { return ask<lease_answer>(claim_lease{id, who, false}); }
  lease_answer claim_destroy(node_id who = me) { return ask<lease_answer>(claim_lease{id, who, true}); }
  lease_answer renew(node_id who = me) { return ask<lease_answer>(renew_lease{id, who}); }
  lease_answer release(node_id who = me) { return ask<lease_answer>(release_lease{id, who}); }
  lease_view owner() { return ask<lease_view>(query_lease{id}); }

  /// The lease as the store's text: `own:me`, `del:peer`, or nothing.
  std::string now() {
    const auto lease = owner();
    if (lease.state == lease_state::absent)
      return "-";
    return (lease.state == lease_state::owned ? "own:" : "del:") + lease.owner.value.substr(5);
  }

  void become(const std::string& current) {
    const auto who = current.ends_with("peer") ? peer : me;
    if (current.starts_with("own:"))
      take(who);
    else if (current.starts_with("del:"))
      claim_destroy(who);
    BOOST_REQUIRE_EQUAL(now(), current);
  }
};

struct row {
  std::string current;
  std::string request;
  std::string outcome;
  std::string after;
  bool time_restarts;
};

// The table of the specification, cell by cell.
const std::vector<row> table{
    {"-", "take", "granted", "own:me", true},
    {"-", "claim", "granted", "own:me", true},
    {"-", "claim_destroy", "granted", "del:me", true},
    {"-", "renew", "lapsed", "-", false},
    {"-", "release", "unchanged", "-", false},
    {"own:me", "take", "granted", "own:me", true},
    {"own:me", "claim", "granted", "own:me", true},
    {"own:me", "claim_destroy", "granted", "del:me", true},
    {"own:me", "renew", "renewed", "own:me", true},
    {"own:me", "release", "released", "-", false},
    {"own:peer", "take", "granted", "own:me", true},
    {"own:peer", "claim", "refused", "own:peer", false},
    {"own:peer", "claim_destroy", "refused", "own:peer", false},
    {"own:peer", "renew", "lost", "own:peer", false},
    {"own:peer", "release", "unchanged", "own:peer", false},
    {"del:me", "take", "refused", "del:me", false},
    {"del:me", "claim", "refused", "del:me", false},
    {"del:me", "claim_destroy", "granted", "del:me", true},
    {"del:me", "renew", "lost", "del:me", false},
    {"del:me", "release", "released", "-", false},
    {"del:peer", "take", "refused", "del:peer", false},
    {"del:peer", "claim", "refused", "del:peer", false},
    {"del:peer", "claim_destroy", "refused", "del:peer", false},
    {"del:peer", "renew", "lost", "del:peer", false},
    {"del:peer", "release", "unchanged", "del:peer", false},
};

lease_answer perform(fixture& f, const std::string& request) {
  if (request == "take")
    return f.take();
  if (request == "claim")
    return f.claim();
  if (request == "claim_destroy")
    return f.claim_destroy();
  if (request == "renew")
    return f.renew();
  return f.release();
}

} // namespace

BOOST_AUTO_TEST_CASE(the_truth_table_holds_cell_by_cell) {
  for (const auto& cell : table) {
    BOOST_TEST_CONTEXT(cell.current << " x " << cell.request) {
      fixture f;
      f.become(cell.current);
      f.pass(lease_time / 2);
      const auto answer = perform(f, cell.request);
      BOOST_TEST(to_string(answer.outcome) == cell.outcome);
      BOOST_TEST(f.now() == cell.after);
      BOOST_TEST((answer.state == f.owner().state), "the answer shows the lease as it stands after it");
      // Whether the lease time restarted shows when the old one is over.
      f.pass(lease_time / 2 + 1s);
      BOOST_TEST(f.now() == (cell.time_restarts ? cell.after : "-"));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(O5_every_request_may_be_repeated_by_its_caller, fixture) {
  for (const auto* request : {"take", "claim_destroy"}) {
    const auto first = perform(*this, request);
    BOOST_TEST(to_string(perform(*this, "claim_destroy").outcome) == "granted");
    BOOST_TEST(to_string(first.outcome) == "granted");
    release();
  }
  BOOST_TEST(to_string(release().outcome) == "unchanged");
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_absent_at_its_deadline_not_after_it, fixture) {
  take();
  pass(lease_time - 1ms);
  BOOST_TEST(now() == "own:me");
  pass(1ms);
  BOOST_TEST(now() == "-");
}

BOOST_FIXTURE_TEST_CASE(OR2_a_renewal_at_the_moment_of_expiry_says_lapsed_not_renewed, fixture) {
  take();
  pass(lease_time);
  BOOST_TEST(to_string(renew().outcome) == "lapsed");
  BOOST_TEST(now() == "-");
}

BOOST_FIXTURE_TEST_CASE(R9_the_marker_of_a_destroyer_that_died_lapses_after_one_lease_time, fixture) {
  claim_destroy(peer);
  BOOST_TEST(to_string(take().outcome) == "refused");
  pass(lease_time);
  BOOST_TEST(to_string(take().outcome) == "granted");
}

BOOST_FIXTURE_TEST_CASE(LE12_a_holder_that_comes_back_late_cannot_clear_its_successor, fixture) {
  take(peer);
  pass(lease_time);
  take();
  BOOST_TEST(to_string(release(peer).outcome) == "unchanged");
  BOOST_TEST(now() == "own:me");
}

BOOST_FIXTURE_TEST_CASE(O4_of_many_claims_on_an_absent_lease_exactly_one_is_granted, fixture) {
  int granted = 0;
  for (int i = 0; i < 100; ++i)
    granted += claim({"host:" + std::to_string(i)}).outcome == lease_outcome::granted ? 1 : 0;
  BOOST_TEST(granted == 1);
}

BOOST_FIXTURE_TEST_CASE(the_fencing_epoch_grows_with_every_change_of_owner_and_never_falls, fixture) {
  const auto first = take().epoch.value;
  BOOST_TEST(first >= 100U);
  BOOST_TEST(take().epoch.value == first);
  BOOST_TEST(renew().epoch.value == first);
  const auto second = take(peer).epoch.value;
  BOOST_TEST(second > first);
  pass(lease_time);
  BOOST_TEST(take(peer).epoch.value > second, "absent in between: somebody else may have held it");
  BOOST_TEST(claim_destroy(peer).epoch.value > second);
}

BOOST_FIXTURE_TEST_CASE(the_memory_store_says_that_peers_cannot_see_it, fixture) {
  const auto info = ask<store_info>(store_query{});
  BOOST_TEST(!info.supports_cross_process);
  BOOST_TEST(info.lease_time_ms == 120'000);
}
