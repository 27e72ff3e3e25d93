#pragma once
// A port that records what the machine asks for and answers nothing by itself.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "actors/sandbox_machine.hpp"

namespace berth::test {

class fake_port final : public sandbox_port {
public:
  std::vector<std::string> asked;
  std::vector<std::string> complaints;
  std::set<std::pair<sandbox_state, event>> cells;
  std::int64_t clock_ns = 1'000'000'000;

  [[nodiscard]] long count(const std::string& what) const { return std::count(asked.begin(), asked.end(), what); }
  [[nodiscard]] std::string last() const { return asked.empty() ? "" : asked.back(); }

  std::int64_t now_ns() override { return clock_ns; }
  void ask_take(step_number) override { asked.emplace_back("take"); }
  void ask_claim(step_number, bool destroy) override { asked.emplace_back(destroy ? "claim_destroy" : "claim"); }
  void ask_release_lease(step_number) override { asked.emplace_back("release_lease"); }
  void ask_renew() override { asked.emplace_back("renew"); }
  void ask_reclaim() override { asked.emplace_back("reclaim"); }
  void ask_beat() override { asked.emplace_back("beat"); }
  void schedule_beat() override { asked.emplace_back("schedule_beat"); }
  void ask_find(step_number) override { asked.emplace_back("find"); }
  void ask_probe(step_number, const instance_id& x) override { asked.push_back("probe " + x.value); }
  void ask_create(step_number, fencing_epoch) override { asked.emplace_back("create"); }
  void ask_destroy(step_number, const instance_id& x, fencing_epoch e) override {
    asked.push_back("destroy " + x.value + "@" + std::to_string(e.value));
  }
  void ask_slot(step_number, bool exists) override { asked.emplace_back(exists ? "account" : "reserve"); }
  void free_slot() override { asked.emplace_back("free_slot"); }
  void drain() override { asked.emplace_back("drain"); }
  void close_client() override { asked.emplace_back("close_client"); }
  void tell_parked(std::int64_t) override { asked.emplace_back("parked"); }
  void tell_unparked() override { asked.emplace_back("unparked"); }
  void tell_departed() override { asked.emplace_back("departed"); }
  void tell_retired() override { asked.emplace_back("retired"); }
  void visited(sandbox_state from, event what, sandbox_state) override { cells.emplace(from, what); }
  void complain(const std::string& what) override { complaints.push_back(what); }
};

/// A machine and the shortest way into each of its states.
struct bench_machine {
  fake_port port;
  sandbox_machine m{port, {"00000000000000aa"}};
  scope owner{"alice", "t1"};

  static instance made(std::string name = "i-1") {
    return {{"00000000000000aa"}, {std::move(name)}, {"alice", "t1"}, {7}, 0, "default"};
  }
  static lease_answer lease(std::uint64_t epoch = 7) {
    return {lease_outcome::granted, lease_state::owned, {"me"}, {epoch}};
  }

  void acquire() { m.acquire(owner, {}); }
  void granted() { m.on_lease(m.current_step(), event::granted, lease()); }
  void say(event what, const caf::error& why = {}) { m.on_answer(m.current_step(), what, why); }

  void to_finding() { acquire(), granted(); }
  void to_reserving() { to_finding(), say(event::not_found); }
  void to_creating() { to_reserving(), say(event::slot); }
  void to_accounting() { to_finding(), m.on_found(m.current_step(), made()); }
  void to_active() {
    to_creating();
    m.on_created(m.current_step(), made());
  }
  void to_unpublishing() { to_reserving(), say(event::no_slot, make_error(errc::capacity_exceeded)); }
  void to_adopting() { m.adopt(made(), {}); }
  void to_parking() { to_active(), m.release({}); }
  void to_draining() { to_active(), (void)m.begin_operation(), m.release({}); }
  void to_warm() { to_parking(), m.on_renewal(event::renewed); }
  void to_probing() { to_warm(), acquire(), granted(); }
  void to_marking() { to_warm(), m.close(close_reason::requested, {}); }
  void to_stopping() { to_marking(), granted(); }
  void to_settling() { to_stopping(), m.on_beat(), say(event::stopped); }
  void to_unmarking() { to_stopping(), say(event::stopped); }
};

} // namespace berth::test
