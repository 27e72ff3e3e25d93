// The command line, the configuration and the README, from outside.
#include <csignal>
#include <fstream>
#include <iterator>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/program.hpp"

using namespace berth::e2e;
using nlohmann::json;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool is_one_line(const std::string& text) { return text.find('\n') == text.size() - 1; }

// The text between ```LANGUAGE and ``` that begins with `first`.
std::string block_of(const std::string& markdown, const std::string& language, const std::string& first) {
  const auto open = "```" + language + "\n" + first;
  const auto at = markdown.find(open);
  if (at == std::string::npos)
    return {};
  const auto begin = at + open.size() - first.size();
  return markdown.substr(begin, markdown.find("```", begin) - begin);
}

} // namespace

BOOST_AUTO_TEST_SUITE(usage)

BOOST_AUTO_TEST_CASE(version_and_help_go_to_standard_output) {
  const world w;
  const auto version = w.berth({"--version"});
  BOOST_TEST(version.status == 0);
  BOOST_TEST(version.out.starts_with("berth "));
  for (const auto* command :
       {"node", "run", "acquire", "release", "destroy", "list", "status", "exec", "read", "write", "ls", "config"}) {
    BOOST_TEST(holds(w.berth({"--help"}).out, command));
    BOOST_TEST(w.berth({command, "--help"}).status == 0, command);
  }
}

BOOST_AUTO_TEST_CASE(usage_errors_are_one_line_with_status_2_and_125_where_other_statuses_belong_to_the_command) {
  const world w;
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"lisst"},
      {"list", "--no-such-flag"},
      {"acquire"},
      {"acquire", "--scope", "a/b", "--", "ls"},
      {"acquire", "--scope", "a/b", "c/d"},
      {"read", "a/b"},
      {"read", "--scope", "a/b"},
      {"read", "a/b", "relative/path"},
      {"read", "a/b", "/x", "--lines", "9:3"},
      {"read", "a/b", "/x", "--lines", "0:3"},
      {"ls", "a/b", "/", "--depth", "0"},
      {"list", "--node", "127.0.0.1"},
      {"list", "--node", "10.0.0.1:7411"},
      {"list", "--node", "127.0.0.1:7411", "--embedded"},
      {"list", "--log-level", "loud"},
      {"node", "--node", "127.0.0.1:7411"},
      {"read", "a/b", "/x", "--bytes", "--lines", "1:2"},
  };
  for (const auto& args : wrong) {
    const auto x = w.berth(args);
    BOOST_TEST(x.status == 2, x.err);
    BOOST_TEST(x.out.empty());
    BOOST_TEST((x.err.starts_with("berth: ") && is_one_line(x.err)), x.err);
  }
  BOOST_TEST(w.berth({"run", "--scope", "a/b"}).status == 125);
  BOOST_TEST(w.berth({"run", "--scope", "a/b", "ls", "--", "ls"}).status == 125);
  BOOST_TEST(w.berth({"run", "--scope", "a/b", "--"}).status == 125);
  BOOST_TEST(w.berth({"exec", "--bad", "--", "ls"}).status == 125);
}

BOOST_AUTO_TEST_CASE(a_bad_scope_is_refused_before_anything_is_started) {
  const world w;
  for (const std::string scope :
       {"../b", "a/..", "/b", "a/", "/", "a", "a/b/c", "a/b c", "a/\x01", "a/\xc3\xa9", "a/b\n", "~/b", "a/$(id)"}) {
    const auto x = w.berth({"acquire", "--scope", scope});
    BOOST_TEST(x.status == 2, scope);
    BOOST_TEST(holds(x.err, "invalid scope"), x.err);
    BOOST_TEST(is_one_line(x.err));
    BOOST_TEST(w.berth({"run", "--scope", scope, "--", "true"}).status == 125, scope);
  }
  BOOST_TEST(w.berth({"acquire", "--scope", ""}).status == 2);
  BOOST_TEST(w.berth({"acquire", "--scope", std::string(129, 'u') + "/t"}).status == 2);
  BOOST_TEST(w.berth({"acquire", "--scope", "u/" + std::string(65, 't')}).status == 2);
  BOOST_TEST(!std::filesystem::exists(w.data_dir()));
  BOOST_TEST(w.berth({"acquire", "--scope", std::string(128, 'u') + "/" + std::string(64, 't')}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_bad_time_limit_is_refused_with_its_range) {
  const world w;
  for (const std::string limit :
       {"0", "-1", "nan", "inf", "1e99", "ten", "", "1s", "0x10", "31536001", "0.0001", "1.2.3"}) {
    const auto x = w.berth({"run", "--scope", "a/b", "--timeout=" + limit, "--", "true"});
    BOOST_TEST(x.status == 125, limit);
    BOOST_TEST((holds(x.err, "between 0.001 and 31536000") || limit.empty()), x.err);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_variable_is_refused_and_never_repeated) {
  const world w;
  for (const std::string entry : {"1X=hunter2-secret", "A-B=hunter2-secret", "=hunter2-secret", "hunter2-secret"}) {
    const auto x = w.berth({"run", "--scope", "a/b", "--env", entry, "--", "true"});
    BOOST_TEST(x.status == 125);
    BOOST_TEST(!holds(x.out + x.err, "hunter2"), x.err);
  }
}

BOOST_AUTO_TEST_CASE(with_json_an_error_is_a_document_on_standard_output) {
  const world w;
  for (const auto& args :
       {std::vector<std::string>{"acquire", "--scope", "a/..", "--json"}, std::vector<std::string>{"--json", "lisst"},
        std::vector<std::string>{"release", "0123456789abcdef", "--json"},
        std::vector<std::string>{"list", "--json", "--node", "127.0.0.1:1"}}) {
    const auto x = w.berth(args);
    BOOST_TEST(x.status != 0);
    const auto document = json::parse(x.out);
    BOOST_TEST(document["error"]["code"].is_string());
    BOOST_TEST(document["error"]["message"].is_string());
  }
}

BOOST_AUTO_TEST_CASE(closed_standard_streams_neither_hang_nor_become_other_files) {
  const world w;
  const auto closed = w.shell("\"$0\" --embedded list >/dev/null 2>&- <&-", seconds{15});
  BOOST_TEST(closed.status == 0);
  const auto all = w.shell("\"$0\" --embedded list >&- 2>&- <&-", seconds{15});
  BOOST_TEST(all.status == 1);
  BOOST_TEST(w.shell("\"$0\" run --scope a/b -- 'exit 7' >/dev/null 2>&- <&-", seconds{15}).status == 7);
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_an_error_and_says_why) {
  const world w;
  const std::string read = "read --scope a/b /mnt/user-data/workspace/x";
  BOOST_TEST(w.berth({"write", "a/b", "/mnt/user-data/workspace/x", "--content", "text"}).status == 0);
  for (const auto& [command, status] : {std::pair{std::string{"--json run --scope a/b -- 'seq 1000000'"}, 125},
                                        {"run --scope a/b -- 'seq 1000000'", 125},
                                        {"--json list", 1},
                                        {"list", 1},
                                        {"--json acquire a/b", 1},
                                        {"config", 1},
                                        {"--version", 1},
                                        {read, 1}}) {
    const auto full = w.shell("\"$0\" " + command + " >/dev/full");
    BOOST_TEST(full.status == status, command);
    BOOST_TEST(holds(full.err, "berth: standard output: No space left on device\n"), command << ": " << full.err);
    const auto closed = w.shell("\"$0\" " + command + " >&-");
    BOOST_TEST(closed.status == status, command);
    BOOST_TEST(holds(closed.err, "berth: standard output: Bad file descriptor\n"), command << ": " << closed.err);
  }
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(configuration)

BOOST_AUTO_TEST_CASE(a_wrong_configuration_is_refused_naming_file_key_and_range) {
  const world w;
  const auto file =
      w.file("bad.yaml", "sandbox: {idle_timeout: .inf, replicsa: 2, use: dokcer}\nnode: {listen: \"0.0.0.0:1\"}\n");
  const auto x = w.berth({"status", "--config", file});
  BOOST_TEST(x.status == 1);
  for (const auto* part : {"bad.yaml", "sandbox.idle_timeout", "'.inf'", "31536000", "replicsa", "replicas", "dokcer",
                           "local", "loopback"})
    BOOST_TEST(holds(x.err, part), part << " is missing in " << x.err);
  BOOST_TEST(w.berth({"run", "--scope", "a/b", "--config", file, "--", "true"}).status == 125);
  BOOST_TEST(!std::filesystem::exists(w.data_dir()));
}

BOOST_AUTO_TEST_CASE(an_unreadable_configuration_is_refused_with_the_reason) {
  const world w;
  const auto missing = w.berth({"status", "--config", w.dir() / "none.yaml"});
  BOOST_TEST(missing.status == 1);
  BOOST_TEST(holds(missing.err, "No such file"), missing.err);
  BOOST_TEST(holds(w.berth({"status", "--config", w.dir()}).err, "directory"));
  BOOST_TEST(w.berth({"status", "--config", w.file("broken.yaml", "sandbox: [\n")}).status == 1);
  if (::geteuid() != 0) { // root reads everything
    const auto closed = w.file("closed.yaml", "");
    ::chmod(closed.c_str(), 0);
    BOOST_TEST(holds(w.berth({"status", "--config", closed}).err, "Permission denied"));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_configuration_is_not_repeated) {
  const world w;
  const auto x = w.berth({"status", "--config", w.file("key.pem", "hunter2-secret\n")});
  BOOST_TEST(x.status == 1);
  BOOST_TEST(holds(x.err, "not a mapping of keys"), x.err);
  BOOST_TEST(!holds(x.err, "hunter2"), x.err);
}

BOOST_AUTO_TEST_CASE(a_data_directory_that_cannot_be_used_is_refused_with_the_reason) {
  const world w;
  const auto x = w.berth({"run", "--scope", "a/b", "--data-dir", w.file("plain", "") / "below", "--", "true"});
  BOOST_TEST(x.status == 125);
  BOOST_TEST(holds(x.err, "plain"), x.err);
  const auto read_only = w.berth({"status", "--data-dir", "/proc/berth"});
  BOOST_TEST(read_only.status == 1);
  BOOST_TEST(holds(read_only.err, "/proc/berth"), read_only.err);
}

BOOST_AUTO_TEST_CASE(the_reference_is_a_configuration_that_means_the_defaults) {
  const world w;
  const auto reference = w.berth({"config"});
  BOOST_TEST(reference.status == 0);
  const auto file = w.file("reference.yaml", reference.out);
  BOOST_TEST(
      w.berth({"status", "--embedded", "--config", file, "--data-dir", w.data_dir()}).status
      == w.berth({"status", "--embedded", "--config", w.file("empty.yaml", ""), "--data-dir", w.data_dir()}).status);
  const auto keys = json::parse(w.berth({"config", "--json"}).out)["keys"];
  BOOST_TEST(keys.size() > 20u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(readme)

BOOST_AUTO_TEST_CASE(the_table_of_keys_in_the_readme_is_what_berth_config_prints) {
  const world w;
  const auto reference = w.berth({"config"}).out;
  BOOST_TEST(block_of(text_of(BERTH_SOURCE_DIR "/README.md"), "yaml", reference.substr(0, 20)) == reference,
             "README.md: replace the reference with the output of 'berth config'");
}

BOOST_AUTO_TEST_CASE(the_configuration_in_the_readme_is_accepted) {
  const world w;
  const auto example = block_of(text_of(BERTH_SOURCE_DIR "/README.md"), "yaml", "sandbox:");
  BOOST_TEST(!example.empty());
  const auto x =
      w.berth({"list", "--embedded", "--data-dir", w.data_dir(), "--config", w.file("readme.yaml", example)});
  BOOST_TEST(!holds(x.err, "invalid configuration"), x.err);
}

BOOST_AUTO_TEST_CASE(the_embedding_example_in_the_readme_is_the_compiled_one) {
  const auto quoted = block_of(text_of(BERTH_SOURCE_DIR "/README.md"), "cpp", "  auto node");
  BOOST_TEST(!quoted.empty());
  BOOST_TEST(holds(text_of(BERTH_SOURCE_DIR "/tools/examples/embed.cpp"), quoted));
}

BOOST_AUTO_TEST_CASE(a_host_with_its_own_actor_system_leases_executes_reads_and_stops) {
  const world w;
  program host{{BERTH_EXAMPLE}, w.env};
  const auto x = host.wait();
  BOOST_TEST(x.status == 0, x.err);
  BOOST_TEST(x.out
             == "exit status 0, printed 42\nthe file holds 42\nreleased, now warm\n"
                "stopped, sandboxes closed: 1, left: 0\n");
  BOOST_TEST(w.nothing_left());
}

BOOST_AUTO_TEST_SUITE_END()
