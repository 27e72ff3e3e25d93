// Configuration: what is accepted and where it goes.
#include <unistd.h>

#include "runtime/config.hpp"
#include "runtime/config_keys.hpp"
#include "tests/runtime/scratch.hpp"

using namespace berth;
using berth::test::scratch_directory;
using berth::test::variable;

namespace {

config accepted(const std::string& text) {
  auto parsed = parse_config(text, "test.yaml");
  REQUIRE_VALUE(parsed);
  return *parsed;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

BOOST_AUTO_TEST_SUITE(config_values)

BOOST_AUTO_TEST_CASE(an_empty_file_means_the_defaults) {
  const scratch_directory here;
  for (const std::string text : {"", "\n", "# nothing\n", "---\n", "sandbox:\nnode:\n  # listen: x\nlog: {}\n"}) {
    auto loaded = load_config(here.write("a.yaml", text));
    REQUIRE_VALUE(loaded);
    for (const auto& k : detail::keys())
      BOOST_TEST(detail::shown(k, *loaded) == detail::shown(k, default_config()));
  }
}

BOOST_AUTO_TEST_CASE(the_printed_reference_is_a_configuration_of_all_defaults) {
  const auto reference = describe_keys();
  const auto parsed = accepted(reference);
  for (const auto& k : detail::keys()) {
    BOOST_TEST(detail::shown(k, parsed) == detail::shown(k, default_config()));
    BOOST_TEST(holds(reference, std::string{detail::leaf_of(k.path)} + ": " + detail::shown(k, parsed)));
    BOOST_TEST(!k.doc.empty());
  }
}

BOOST_AUTO_TEST_CASE(every_key_has_a_section_and_a_unique_path) {
  std::vector<std::string> seen;
  for (const auto& k : detail::keys()) {
    BOOST_TEST((std::find(seen.begin(), seen.end(), k.path) == seen.end()), k.path);
    seen.emplace_back(k.path);
    BOOST_TEST(std::any_of(detail::sections().begin(), detail::sections().end(),
                           [&](const auto& s) { return s.path == detail::parent_of(k.path); }),
               k.path);
  }
}

BOOST_AUTO_TEST_CASE(every_key_reaches_its_place) {
  const auto c = accepted(R"(
sandbox:
  use: local
  replicas: 7
  overflow_policy: burst
  burst_limit: 2
  acquire_timeout: 1.5
  idle_timeout: 0
  idle_check_interval: 0.25
  command_timeout: '12'
  release_grace: 0.001
  create_timeout: +3
  stop_timeout: 4
  reconcile_interval: 5e1
  environment: {NAME: value, EMPTY: "", NUMBER: 007}
  ownership: {type: memory, renewal_interval: 10, ttl_multiplier: 3}
  local: {data_dir: /data, isolation: none, network: host, bwrap: /opt/bwrap, guest: /opt/guest, binds: [/a, /b]}
node: {listen: "[::1]:0", fleet: blue, shutdown_timeout: 9}
log: {level: debug, format: json, file: /tmp/x.log}
)");
  const node_id me{"here:1"};
  const auto l = to_lifecycle_options(c, me);
  BOOST_TEST(l.node.value == "here:1");
  BOOST_TEST(l.fleet == "blue");
  BOOST_TEST(l.version.empty() == false);
  BOOST_TEST(l.replicas == 7);
  BOOST_TEST((l.overflow == overflow_policy::burst));
  BOOST_TEST(l.burst_limit == 2);
  BOOST_TEST(l.acquire_timeout.count() == 1500);
  BOOST_TEST(l.idle_timeout.count() == 0);
  BOOST_TEST(l.idle_check_interval.count() == 250);
  BOOST_TEST(l.default_command_timeout.count() == 12'000);
  BOOST_TEST(l.release_grace.count() == 1);
  BOOST_TEST(l.create_bound.count() == 3000);
  BOOST_TEST(l.stop_bound.count() == 4000);
  BOOST_TEST(l.reconcile_interval.count() == 50'000);
  BOOST_TEST(l.renewal_interval.count() == 10'000);
  BOOST_TEST(l.lease_time().count() == 30'000);
  const auto o = to_local_options(c, me, {{"PATH", "/bin"}});
  BOOST_TEST(o.data_dir == "/data");
  BOOST_TEST(o.fleet == "blue");
  BOOST_TEST(o.node.value == "here:1");
  BOOST_TEST((o.isolation == isolation_mode::none));
  BOOST_TEST((o.network == network_mode::host));
  BOOST_TEST(o.bwrap == "/opt/bwrap");
  BOOST_TEST(o.guest == "/opt/guest");
  BOOST_TEST(o.extra_binds.size() == 2U);
  BOOST_TEST(o.base_environment.at("PATH") == "/bin");
  BOOST_TEST(o.environment.at("NAME") == "value");
  BOOST_TEST(o.environment.at("EMPTY").empty());
  BOOST_TEST(o.environment.at("NUMBER") == "007");
  BOOST_TEST(o.default_timeout_ms == 12'000);
  BOOST_TEST(c.node.listen == "[::1]:0");
  BOOST_TEST(c.node.shutdown_timeout.count() == 9000);
  BOOST_TEST((c.log.level == log_level::debug));
  BOOST_TEST((c.log.format == log_format::json));
  BOOST_TEST(c.log.file == "/tmp/x.log");
}

BOOST_AUTO_TEST_CASE(the_defaults_are_those_of_the_lifecycle) {
  const auto from_config = to_lifecycle_options(default_config(), node_id{});
  const lifecycle_options built_in;
  BOOST_TEST(from_config.replicas == 3);
  BOOST_TEST(from_config.idle_timeout.count() == 600'000);
  BOOST_TEST(from_config.idle_check_interval.count() == 60'000);
  BOOST_TEST(from_config.fleet == built_in.fleet);
  BOOST_TEST(from_config.acquire_timeout.count() == built_in.acquire_timeout.count());
  BOOST_TEST(from_config.lease_time().count() == built_in.lease_time().count());
  BOOST_TEST(from_config.reconcile_interval.count() == built_in.reconcile_interval.count());
  BOOST_TEST(from_config.create_bound.count() == built_in.create_bound.count());
  BOOST_TEST(from_config.stop_bound.count() == built_in.stop_bound.count());
  BOOST_TEST(from_config.release_grace.count() == built_in.release_grace.count());
  BOOST_TEST(from_config.default_command_timeout.count() == built_in.default_command_timeout.count());
}

BOOST_AUTO_TEST_CASE(e8_a_variable_is_resolved_once_and_its_value_is_taken_as_it_is) {
  const variable set{"BERTH_TEST_VALUE", "$HOME and $(more)"};
  const auto c = accepted("sandbox: {environment: {A: $BERTH_TEST_VALUE, B: a$BERTH_TEST_VALUE}}");
  const variable changed{"BERTH_TEST_VALUE", "other"};
  BOOST_TEST(c.sandbox.environment.at("A") == "$HOME and $(more)");
  BOOST_TEST(c.sandbox.environment.at("B") == "a$BERTH_TEST_VALUE");
}

BOOST_AUTO_TEST_CASE(loopback_in_all_its_forms_is_listened_on) {
  for (const std::string good : {"127.0.0.1:7411", "127.9.9.9:1", "localhost:0", "'[::1]:65535'"})
    accepted("node: {listen: " + good + "}");
  const auto v6 = parse_endpoint("[::1]:80");
  BOOST_REQUIRE(v6);
  BOOST_TEST(v6->host == "::1");
  BOOST_TEST(v6->port == 80);
}

BOOST_AUTO_TEST_CASE(the_data_directory_follows_the_environment) {
  {
    const variable state{"XDG_STATE_HOME", "/state"};
    BOOST_TEST(default_data_dir() == "/state/berth");
  }
  const variable relative{"XDG_STATE_HOME", "state"}; // to be ignored, says the specification
  const variable home{"HOME", "/home/me"};
  BOOST_TEST(default_data_dir() == (geteuid() == 0 ? "/var/lib/berth" : "/home/me/.local/state/berth"));
  const auto c = accepted("sandbox: {local: {data_dir: ~/berth}}");
  BOOST_TEST(to_local_options(c, node_id{}, {}).data_dir == "/home/me/berth");
}

BOOST_AUTO_TEST_CASE(berth_config_names_the_default_file) {
  {
    const variable set{"BERTH_CONFIG", "/etc/berth.yaml"};
    BOOST_TEST((default_config_path() == std::filesystem::path{"/etc/berth.yaml"}));
  }
  const variable empty{"BERTH_CONFIG", ""};
  BOOST_TEST(!default_config_path());
}

BOOST_AUTO_TEST_SUITE_END()
