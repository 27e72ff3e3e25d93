// Logging: one event is one line, and no secret is in it.
#include <nlohmann/json.hpp>

#include "messages/log.hpp"
#include "runtime/logging.hpp"
#include "tests/runtime/scratch.hpp"

using namespace berth;
using berth::test::scratch_directory;

namespace {

// What is written to a log file with these settings while `speak` runs.
template <class F>
std::vector<std::string> logged(log_level level, log_format format, std::shared_ptr<const redactor> secrets, F speak) {
  const scratch_directory here;
  const auto failed = start_logging({level, format, (here / "a.log").string()}, std::move(secrets));
  BOOST_REQUIRE(!failed);
  speak();
  stop_logging();
  std::vector<std::string> lines;
  std::istringstream text{here.read("a.log")};
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}

constexpr auto nasty = "a \"quoted\" \\ {} line\nwith\ttabs, \x01 control, \xff no UTF-8, \xc3\xa4";

} // namespace

BOOST_AUTO_TEST_SUITE(logging)

BOOST_AUTO_TEST_CASE(a_json_line_parses_whatever_the_text_holds) {
  const auto lines = logged(log_level::info, log_format::json, nullptr, [] {
    log::warn(nasty);
    log::info("");
  });
  BOOST_REQUIRE(lines.size() == 2U);
  const auto event = nlohmann::json::parse(lines[0]);
  BOOST_TEST(event.at("level") == "warning");
  const auto message = event.at("message").get<std::string>();
  BOOST_TEST(message.starts_with("a \"quoted\" \\ {} line\nwith\ttabs, \x01 control, "));
  BOOST_TEST(message.ends_with("no UTF-8, \xc3\xa4"));
  const auto time = event.at("time").get<std::string>();
  BOOST_TEST(time.size() == 24U);
  BOOST_TEST(time.back() == 'Z');
  BOOST_TEST(nlohmann::json::parse(lines[1]).at("message") == "");
}

BOOST_AUTO_TEST_CASE(a_text_event_is_one_line_and_cannot_forge_another) {
  const auto lines = logged(log_level::info, log_format::text, nullptr, [] { log::error(nasty); });
  BOOST_REQUIRE(lines.size() == 1U);
  BOOST_TEST(lines[0].find(" error   a \"quoted\" \\ {} line\\nwith\ttabs, \\x01 control, ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(events_below_the_level_are_not_written) {
  const auto all = [] {
    log::debug("1");
    log::info("2");
    log::warn("3");
    log::error("4");
  };
  BOOST_TEST(logged(log_level::trace, log_format::text, nullptr, all).size() == 4U);
  BOOST_TEST(logged(log_level::debug, log_format::text, nullptr, all).size() == 4U);
  BOOST_TEST(logged(log_level::info, log_format::text, nullptr, all).size() == 3U);
  BOOST_TEST(logged(log_level::warning, log_format::text, nullptr, all).size() == 2U);
  BOOST_TEST(logged(log_level::error, log_format::text, nullptr, all).size() == 1U);
  BOOST_TEST(logged(log_level::off, log_format::text, nullptr, all).empty());
}

BOOST_AUTO_TEST_CASE(debug_enabled_follows_the_level) {
  logged(log_level::debug, log_format::text, nullptr, [] { BOOST_TEST(log::debug_enabled()); });
  logged(log_level::info, log_format::text, nullptr, [] { BOOST_TEST(!log::debug_enabled()); });
}

BOOST_AUTO_TEST_CASE(e9_secrets_of_eight_characters_are_redacted_the_longest_first) {
  redactor r;
  r.add("12345678");
  r.add("1234567");
  r.add("12345678-and-more");
  r.add("12345678");
  BOOST_TEST(r.apply("a 12345678-and-more b 12345678 c 1234567 d") == "a [redacted] b [redacted] c 1234567 d");
  BOOST_TEST(r.apply("1234567812345678") == "[redacted][redacted]");
  BOOST_TEST(r.apply("") == "");
}

BOOST_AUTO_TEST_CASE(a_redacted_secret_is_in_no_form_of_log) {
  for (const auto format : {log_format::text, log_format::json}) {
    auto secrets = std::make_shared<redactor>();
    secrets->add("pa\"ss\nword");
    const auto lines = logged(log_level::info, format, secrets, [&] {
      log::info("with pa\"ss\nword inside");
      secrets->add("learnt later");
      log::info("and one learnt later");
    });
    BOOST_REQUIRE(lines.size() == 2U);
    BOOST_TEST(lines[0].find("with [redacted] inside") != std::string::npos);
    BOOST_TEST(lines[1].find("and one [redacted]") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(configured_values_and_blocked_variables_are_secrets_paths_are_not) {
  const test::variable token{"BERTH_TEST_TOKEN", "token-of-the-host"};
  const test::variable askpass{"BERTH_TEST_ASKPASS", "/usr/lib/askpass"};
  const test::variable plain{"BERTH_TEST_PLAIN", "plain-and-simple"};
  config settings;
  settings.sandbox.environment["ANY"] = "configured-value";
  const auto secrets = make_redactor(settings);
  BOOST_TEST(secrets->apply("configured-value token-of-the-host") == "[redacted] [redacted]");
  BOOST_TEST(secrets->apply("/usr/lib/askpass plain-and-simple") == "/usr/lib/askpass plain-and-simple");
}

BOOST_AUTO_TEST_CASE(a_log_file_that_cannot_be_opened_is_an_error_with_path_and_reason) {
  const scratch_directory here;
  const auto failed = start_logging({log_level::info, log_format::text, here.path().string()}, nullptr);
  BOOST_TEST((code_of(failed) == errc::config_invalid));
  BOOST_TEST(context_of(failed).find("log.file: ") == 0U);
  BOOST_TEST(context_of(failed).find(here.path().string()) != std::string::npos);
  BOOST_TEST(context_of(failed).find("Is a directory") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_log_file_is_appended_to) {
  const scratch_directory here;
  const auto file = here.write("a.log", "before\n");
  BOOST_REQUIRE(!start_logging({log_level::info, log_format::text, file.string()}, nullptr));
  log::info("after");
  stop_logging();
  const auto text = here.read("a.log");
  BOOST_TEST(text.starts_with("before\n"));
  BOOST_TEST(text.ends_with("after\n"));
}

BOOST_AUTO_TEST_SUITE_END()
