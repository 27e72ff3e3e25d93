// Output: every byte, in order, up to the cap.
#include "harness.hpp"

#include <fstream>
#include <mutex>

using namespace berth;
using namespace berth::test;

namespace {

std::int64_t peak_memory_kb() {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoll(line.substr(6));
  return 0;
}

} // namespace

namespace berth::test {

struct locked_pieces {
  std::mutex guard;
  std::vector<output_chunk> all;
};

static caf::behavior collect(untyped_self_ptr<asker_state>, const std::shared_ptr<locked_pieces>& pieces) {
  return {[pieces](output_chunk& c) {
    const std::lock_guard lock{pieces->guard};
    pieces->all.push_back(std::move(c));
  }};
}

} // namespace berth::test

BOOST_AUTO_TEST_SUITE(output)

BOOST_DATA_TEST_CASE(ou1_many_wide_characters_arrive_exactly, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto x = box.run("/usr/bin/python3 -c \"import sys; sys.stdout.write(chr(0x2615) * 100000)\"");
  BOOST_REQUIRE(x.out.data.size() == 300'000u);
  std::string expected;
  for (int i = 0; i < 100'000; ++i)
    expected += "\xe2\x98\x95";
  BOOST_CHECK(x.out.data == expected);
}

BOOST_DATA_TEST_CASE(ou2_blank_lines_survive, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_TEST(box.run("printf 'a\\n\\nb\\n\\n\\nc\\n'").out.data == "a\n\nb\n\n\nc\n");
}

BOOST_DATA_TEST_CASE(ou3_five_megabytes_then_the_status, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto x = box.run("head -c 5000000 /dev/zero | tr '\\0' 'x'; exit 3");
  BOOST_TEST(x.out.data.size() == 5'000'000u);
  BOOST_TEST(x.out_total == 5'000'000);
  BOOST_CHECK((x.status == exit_status{exit_kind::exited, 3}));
}

BOOST_DATA_TEST_CASE(ou4_a_hundred_megabytes_stay_under_the_cap, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto before = peak_memory_kb();
  const auto x = box.run("head -c 100000000 /dev/zero", 60'000);
  BOOST_TEST(x.status.code == 0);
  BOOST_TEST(x.out_total == 100'000'000);
  BOOST_TEST(static_cast<std::int64_t>(x.out.data.size()) == default_output_cap);
  BOOST_TEST(peak_memory_kb() - before < 60'000);
}

BOOST_DATA_TEST_CASE(both_streams_are_capped_apart, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  execute x;
  x.command = "printf 0123456789; printf abc >&2";
  x.output_cap = 4;
  const auto done = box.try_run(x);
  BOOST_REQUIRE(done);
  BOOST_TEST(done->out.data == "0123");
  BOOST_TEST(done->out_total == 10);
  BOOST_TEST(done->err.data == "abc");
  BOOST_TEST(done->err_total == 3);
}

BOOST_DATA_TEST_CASE(a_subscriber_gets_the_pieces_in_order_before_the_answer, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  execute x;
  x.command = "for i in 1 2 3; do echo $i; pwd; sleep 0.05; done; head -c 200000 /dev/zero";
  auto pieces = std::make_shared<locked_pieces>();
  const auto listener = box.system.spawn(collect, pieces);
  x.subscriber = listener;
  x.id = {"mine"};
  const auto done = box.start(x).get();
  BOOST_REQUIRE(done);
  // The pieces were sent before the answer.
  BOOST_REQUIRE(eventually([&] {
    const std::lock_guard lock{pieces->guard};
    return !pieces->all.empty()
           && pieces->all.back().offset + static_cast<std::int64_t>(pieces->all.back().data.data.size())
                  == done->out_total;
  }));
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  std::string seen;
  const std::lock_guard lock{pieces->guard};
  for (const auto& c : pieces->all) {
    BOOST_TEST(c.id.value == "mine");
    BOOST_TEST(static_cast<std::size_t>(c.offset) == seen.size());
    seen += c.data.data;
  }
  BOOST_CHECK(done->out.data == seen);
  BOOST_TEST(pieces->all.size() >= 3u);
  BOOST_TEST(seen.starts_with("1\n/mnt/user-data/workspace\n2\n"));
}

BOOST_AUTO_TEST_SUITE_END()
