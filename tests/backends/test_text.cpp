// The text an agent reads for a command, and what counts as text.
#include <boost/test/unit_test.hpp>

#include "backends/exec_text.hpp"
#include "backends/ignore.hpp"
#include "backends/utf8.hpp"

using namespace berth;
using namespace std::chrono_literals;

namespace {

executed make(std::string out, std::string err, exit_status status = {}) {
  executed x;
  x.status = status;
  x.out_total = static_cast<std::int64_t>(out.size());
  x.err_total = static_cast<std::int64_t>(err.size());
  x.out.data = std::move(out);
  x.err.data = std::move(err);
  return x;
}

std::string notice(std::chrono::milliseconds limit) {
  return render_text(make("", "", {exit_kind::timed_out, 9}), limit);
}

} // namespace

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(x4_x10_x11_output_then_errors_then_the_exit_code) {
  BOOST_TEST(render_text(make("", ""), 1s) == "(no output)");
  BOOST_TEST(render_text(make("a", ""), 1s) == "a");
  BOOST_TEST(render_text(make("", "b"), 1s) == "b");
  BOOST_TEST(render_text(make("a", "b"), 1s) == "a\nStd Error:\nb");
  BOOST_TEST(render_text(make("a", "b", {exit_kind::exited, 2}), 1s) == "a\nStd Error:\nb\nExit Code: 2");
  BOOST_TEST(render_text(make("", "", {exit_kind::exited, 1}), 1s) == "\nExit Code: 1");
  BOOST_TEST(render_text(make("", "", {exit_kind::signaled, 9}), 1s) == "\nExit Code: -9");
}

BOOST_AUTO_TEST_CASE(x12_x38_k0277_k0278_a_limit_is_told_with_its_duration_and_advice) {
  BOOST_TEST(notice(10s).starts_with("Command timed out after 10 seconds and was terminated"));
  BOOST_TEST(notice(1s).starts_with("Command timed out after 1 second and"));
  BOOST_TEST(notice(1500ms).starts_with("Command timed out after 1.5 seconds and"));
  BOOST_TEST(notice(500ms).starts_with("Command timed out after 0.5 seconds and"));
  BOOST_TEST(notice(1050ms).starts_with("Command timed out after 1.05 seconds and"));
  BOOST_TEST(notice(1s).find("/mnt/user-data/workspace/") != std::string::npos);
  const auto partial = render_text(make("so far", "", {exit_kind::timed_out, 9}), 2s);
  BOOST_TEST(partial.starts_with("so far\nCommand timed out after 2 seconds"));
  BOOST_TEST(partial.find("Exit Code") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(x34_a_cut_stream_says_how_much_was_kept) {
  auto x = make("abc", "");
  x.out_total = 10;
  BOOST_TEST(render_text(x, 1s) == "abc\n... [output truncated after 3 of 10 bytes; remaining output discarded] ...");
}

BOOST_AUTO_TEST_CASE(x39_bad_bytes_become_replacement_characters) {
  BOOST_TEST(to_utf8("a\xff"
                     "b")
             == "a\xef\xbf\xbd"
                "b");
  BOOST_TEST(to_utf8("\xe2\x98") == "\xef\xbf\xbd"); // a character cut off is one
  BOOST_TEST(to_utf8("\xe2\x98\x95") == "\xe2\x98\x95");
  for (const std::string bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xf0\x80\x80\x80"})
    BOOST_TEST(!is_utf8(bad));
  for (const std::string good : {"", "plain", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xef\xbf\xbf"})
    BOOST_TEST(is_utf8(good));
}

BOOST_AUTO_TEST_CASE(i1_ignored_names_are_whole_segments_and_case_counts) {
  for (const auto* name : {".git", "node_modules", "x.egg-info", "a.log", "b~", ".upload-1.part", "build"})
    BOOST_TEST(is_ignored(name));
  for (const auto* name : {"Build", "git", "building", "alog", "upload-1.part", "log.txt"})
    BOOST_TEST(!is_ignored(name));
}

BOOST_AUTO_TEST_SUITE_END()
