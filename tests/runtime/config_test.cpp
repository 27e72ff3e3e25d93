// Configuration: what is refused and how it is said.
#include <unistd.h>

#include "runtime/config.hpp"
#include "runtime/config_keys.hpp"
#include "tests/runtime/scratch.hpp"

using namespace berth;
using berth::test::scratch_directory;
using berth::test::variable;

namespace {

std::string refusal(const std::string& text) {
  auto parsed = parse_config(text, "test.yaml");
  BOOST_REQUIRE_MESSAGE(!parsed, "accepted: " + text);
  BOOST_TEST((code_of(parsed.error()) == errc::config_invalid));
  return context_of(parsed.error());
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

#define CHECK_SAYS(text, part)                                                                                         \
  do {                                                                                                                 \
    const std::string& said_ = text;                                                                                   \
    BOOST_TEST(holds(said_, part), "\"" << said_ << "\" does not say \"" << (part) << "\"");                           \
  } while (false)

BOOST_AUTO_TEST_SUITE(config_refusals)

BOOST_AUTO_TEST_CASE(ca4_every_limit_refuses_what_is_no_number_in_range_with_key_and_range) {
  for (const auto& k : detail::keys()) {
    const auto limit =
        std::holds_alternative<detail::seconds_key>(k.kind) || std::holds_alternative<detail::count_key>(k.kind);
    if (!limit)
      continue;
    for (const std::string bad : {".inf", "-.inf", ".nan", "inf", "nan", "-1", "1e99", "many", "0x10", "1s", "''"}) {
      // The path as nested mappings on one line.
      std::string text{k.path};
      for (auto dot = text.find('.'); dot != std::string::npos; dot = text.find('.', dot + 3))
        text.replace(dot, 1, ": {");
      text += ": " + bad + std::string(static_cast<std::size_t>(std::count(k.path.begin(), k.path.end(), '.')), '}');
      const auto shown = bad == "''" ? std::string{} : bad;
      CHECK_SAYS(refusal(text), std::string{k.path} + ": '" + shown + "' is not " + detail::expectation(k));
    }
  }
}

BOOST_AUTO_TEST_CASE(ca4_zero_is_refused_where_it_means_nothing) {
  CHECK_SAYS(refusal("sandbox: {replicas: 0}"), "sandbox.replicas: '0' is not an integer between 1 and 100000");
  CHECK_SAYS(refusal("sandbox: {command_timeout: 0}"),
             "sandbox.command_timeout: '0' is not a number of seconds between 0.001 and 31536000");
  CHECK_SAYS(refusal("sandbox: {ownership: {renewal_interval: 0}}"), "sandbox.ownership.renewal_interval: '0' is not");
  CHECK_SAYS(refusal("sandbox: {ownership: {ttl_multiplier: 1}}"),
             "sandbox.ownership.ttl_multiplier: '1' is not an integer between 2 and 1000");
  CHECK_SAYS(refusal("sandbox: {replicas: 2.5}"), "'2.5' is not an integer");
  CHECK_SAYS(refusal("sandbox: {replicas: 99999999999999999999}"), "is not an integer between 1 and 100000");
}

BOOST_AUTO_TEST_CASE(a_duration_that_would_round_to_never_is_refused) {
  CHECK_SAYS(refusal("sandbox: {idle_timeout: 0.0001}"), "not less than 0.001 unless 0");
}

BOOST_AUTO_TEST_CASE(the_error_has_the_documented_form) {
  BOOST_TEST(refusal("sandbox:\n  idle_timeout: .inf\n")
             == "test.yaml:2:17: sandbox.idle_timeout: '.inf' is not a number of seconds between 0 and 31536000");
  BOOST_TEST(refusal("sandbox:\n  idle_timout: 5\n")
             == "test.yaml:2:3: sandbox.idle_timout: unknown key; did you mean 'idle_timeout'?");
}

BOOST_AUTO_TEST_CASE(a_list_where_a_scalar_is_due_is_named) {
  CHECK_SAYS(refusal("sandbox: {idle_timeout: [1, 2]}"), "sandbox.idle_timeout: a list is not a number of seconds");
  CHECK_SAYS(refusal("sandbox: {idle_timeout: {a: 1}}"), "sandbox.idle_timeout: a mapping is not a number");
  CHECK_SAYS(refusal("sandbox: {idle_timeout: }"), "sandbox.idle_timeout: an empty value is not a number");
  CHECK_SAYS(refusal("sandbox: {use: [local]}"), "sandbox.use: a list is not");
  CHECK_SAYS(refusal("log: {file: [a]}"), "log.file: a list is not text");
  CHECK_SAYS(refusal("sandbox: {local: {binds: /tmp}}"), "sandbox.local.binds: '/tmp' is not a list of texts");
  CHECK_SAYS(refusal("sandbox: {local: {binds: [[a]]}}"), "sandbox.local.binds: a list is not text");
  CHECK_SAYS(refusal("sandbox: {environment: [A]}"), "sandbox.environment: a list is not a mapping of variable names");
}

BOOST_AUTO_TEST_CASE(a_scalar_where_a_section_is_due_is_named) {
  CHECK_SAYS(refusal("sandbox: 3"), "sandbox: '3' is not a mapping of keys");
  CHECK_SAYS(refusal("sandbox: {local: [x]}"), "sandbox.local: a list is not a mapping of keys");
  CHECK_SAYS(refusal("just text"), "the document is one text, not a mapping of keys");
  CHECK_SAYS(refusal("- a\n- b\n"), "the document is a list, not a mapping of keys");
}

BOOST_AUTO_TEST_CASE(an_unknown_key_gets_the_nearest_one_or_the_right_section) {
  CHECK_SAYS(refusal("sandbx: {}"), "sandbx: unknown key; did you mean 'sandbox'?");
  CHECK_SAYS(refusal("sandbox: {Replicas: 3}"), "sandbox.Replicas: unknown key; did you mean 'replicas'?");
  CHECK_SAYS(refusal("sandbox: {lcoal: {}}"), "sandbox.lcoal: unknown key; did you mean 'local'?");
  CHECK_SAYS(refusal("sandbox: {data_dir: /tmp}"),
             "sandbox.data_dir: unknown key; did you mean 'sandbox.local.data_dir'?");
  CHECK_SAYS(refusal("log: {zzzzzzz: 1}"), "log.zzzzzzz: unknown key; known here: level, format or file");
  CHECK_SAYS(refusal("sandbox.replicas: 3"), "did you mean 'sandbox.replicas'?");
  CHECK_SAYS(refusal("[1]: 3"), "a list cannot be a key");
}

BOOST_AUTO_TEST_CASE(a_key_given_twice_is_refused) {
  CHECK_SAYS(refusal("sandbox: {replicas: 3, replicas: 4}"), "sandbox.replicas: given twice");
  CHECK_SAYS(refusal("log: {}\nlog: {}\n"), "test.yaml:2:1: log: given twice");
  CHECK_SAYS(refusal("sandbox: {environment: {A: '1', A: '2'}}"), "sandbox.environment.A: given twice");
}

BOOST_AUTO_TEST_CASE(a_syntax_error_names_file_line_and_column) {
  CHECK_SAYS(refusal("sandbox:\n  replicas: [1, 2\n"), "not valid YAML: ");
  CHECK_SAYS(refusal("sandbox:\n\treplicas: 1\n"), "test.yaml:2:");
  CHECK_SAYS(refusal("log: {level: *nobody}"), "not valid YAML: ");
  CHECK_SAYS(refusal("---\nlog: {}\n---\nlog: {}\n"), "one document is expected, found 2");
}

BOOST_AUTO_TEST_CASE(a_document_nested_beyond_reason_is_an_error_and_not_a_crash) {
  CHECK_SAYS(refusal("sandbox: " + std::string(100'000, '[')), "test.yaml");
}

BOOST_AUTO_TEST_CASE(all_problems_are_reported_at_once) {
  const auto said =
      refusal("sandbox:\n  replicas: 0\n  idle_timeout: soon\n  use: dcoker\nlog:\n  level: lot\nnoed: {}\n");
  CHECK_SAYS(said, "5 problems");
  CHECK_SAYS(said, "test.yaml:2:13: sandbox.replicas");
  CHECK_SAYS(said, "test.yaml:3:17: sandbox.idle_timeout");
  CHECK_SAYS(said, "sandbox.use");
  CHECK_SAYS(said, "log.level");
  CHECK_SAYS(said, "noed: unknown key; did you mean 'node'?");
}

BOOST_AUTO_TEST_CASE(an_unknown_backend_is_refused_with_the_known_and_the_nearest) {
  CHECK_SAYS(refusal("sandbox: {use: lokal}"),
             "sandbox.use: unknown backend 'lokal'; known: local; did you mean 'local'?");
  CHECK_SAYS(refusal("sandbox: {use: ''}"), "sandbox.use: unknown backend ''; known: local");
}

BOOST_AUTO_TEST_CASE(a_store_that_is_not_built_yet_says_so) {
  CHECK_SAYS(refusal("sandbox: {ownership: {type: redis}}"),
             "sandbox.ownership.type: 'redis' is not part of this version yet; use 'memory'");
  CHECK_SAYS(refusal("sandbox: {ownership: {type: memroy}}"), "did you mean 'memory'?");
}

BOOST_AUTO_TEST_CASE(a_wrong_word_is_refused_with_the_right_ones) {
  CHECK_SAYS(refusal("sandbox: {overflow_policy: wiat}"),
             "sandbox.overflow_policy: 'wiat' is not one of wait, reject, burst or soft; did you mean 'wait'?");
  CHECK_SAYS(refusal("sandbox: {local: {isolation: docker}}"), "is not one of auto, bubblewrap or none");
  CHECK_SAYS(refusal("sandbox: {local: {network: bridge}}"), "is not one of none or host");
  CHECK_SAYS(refusal("log: {format: xml}"), "log.format: 'xml' is not one of text or json");
}

BOOST_AUTO_TEST_CASE(only_loopback_is_listened_on_and_the_reason_is_given) {
  for (const std::string bad : {"0.0.0.0:7411", "192.168.1.4:7411", "'[::]:7411'", "example.org:80"})
    CHECK_SAYS(refusal("node: {listen: " + bad + "}"), "has no authentication");
  for (const std::string bad : {"127.0.0.1", "127.0.0.1:70000", "'127.0.0.1:'", "':80'", "127.0.0.1:8o", "'::1:80'"})
    CHECK_SAYS(refusal("node: {listen: " + bad + "}"), "is not HOST:PORT");
}

BOOST_AUTO_TEST_CASE(names_and_paths_are_checked) {
  CHECK_SAYS(refusal("node: {fleet: 'a b'}"), "node.fleet: 'a b' is not a name of 1 to 63 letters");
  CHECK_SAYS(refusal("node: {fleet: ''}"), "node.fleet: '' is not");
  CHECK_SAYS(refusal("sandbox: {local: {bwrap: ''}}"), "sandbox.local.bwrap");
  CHECK_SAYS(refusal("sandbox: {local: {binds: [rel/path]}}"),
             "sandbox.local.binds: 'rel/path' is not an absolute path");
  CHECK_SAYS(refusal("log: {file: \"a\\0b\"}"), "log.file: 'a?b' is not a path without a zero byte");
}

BOOST_AUTO_TEST_CASE(a_found_value_is_shown_short_and_on_one_line) {
  const auto said = refusal("sandbox: {replicas: \"" + std::string(500, 'x') + "\"}");
  BOOST_TEST(said.size() < 200U);
  BOOST_TEST(refusal("sandbox: {replicas: \"a\\nb\"}").find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_of_variables_are_never_shown) {
  const std::string secret = "hunter2hunter2";
  for (const auto& text :
       {"sandbox: {environment: " + secret + "}", "sandbox: {environment: {1A: " + secret + "}}",
        "sandbox: {environment: {A: [" + secret + "]}}", "sandbox: {environment: {A: \"" + secret + "\\0\"}}",
        "sandbox: {environment: {A: " + secret + ", A: " + secret + "}}",
        "sandbox: {environment: {A: $-" + secret + "}}"})
    BOOST_TEST(!holds(refusal(text), secret), refusal(text));
}

BOOST_AUTO_TEST_CASE(e8_a_missing_variable_fails_the_load) {
  const variable gone{"BERTH_TEST_MISSING", nullptr};
  CHECK_SAYS(refusal("sandbox: {environment: {A: $BERTH_TEST_MISSING}}"),
             "sandbox.environment.A: the environment of this process has no variable 'BERTH_TEST_MISSING'");
  CHECK_SAYS(refusal("sandbox: {environment: {A: }}"), "sandbox.environment.A: an empty value is not text");
}

BOOST_AUTO_TEST_CASE(an_unreadable_file_is_refused_with_path_and_reason) {
  const scratch_directory here;
  const auto said = [](const std::filesystem::path& file) {
    auto loaded = load_config(file);
    BOOST_REQUIRE(!loaded);
    return context_of(loaded.error());
  };
  const auto missing = here / "none.yaml";
  BOOST_TEST(said(missing) == missing.string() + ": cannot be read: No such file or directory");
  CHECK_SAYS(said(here.path()), "it is a directory, not a file");
  CHECK_SAYS(said(here.write("large.yaml", std::string((1 << 20) + 1, '#'))), "larger than 1 MiB");
  CHECK_SAYS(said(here.write("bad.yaml", "log: {level: x}")), (here / "bad.yaml").string() + ":1:14: log.level");
  if (geteuid() != 0) {
    const auto locked = here.write("locked.yaml", "log: {}");
    std::filesystem::permissions(locked, std::filesystem::perms::none);
    CHECK_SAYS(said(locked), "Permission denied");
  }
}

BOOST_AUTO_TEST_SUITE_END()
