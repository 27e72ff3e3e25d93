// Which variables reach commands (spec: contract.md section 9).
#include "runtime/env_policy.hpp"
#include "tests/runtime/scratch.hpp"

using namespace berth;
using variables = std::map<std::string, std::string>;

BOOST_AUTO_TEST_SUITE(env_policy)

BOOST_AUTO_TEST_CASE(e1_blocked_names_are_taken_out_and_injected_ones_always_win) {
  const variables host{{"PATH", "/bin"}, {"API_KEY", "host"}, {"EDITOR", "vi"}, {"LANG", "C"}};
  const variables sent{{"API_KEY", "sent"}, {"LANG", "de"}, {"EXTRA", "x"}};
  const variables expected{{"PATH", "/bin"}, {"API_KEY", "sent"}, {"EDITOR", "vi"}, {"LANG", "de"}, {"EXTRA", "x"}};
  BOOST_TEST((command_environment(host, sent) == expected));
}

BOOST_AUTO_TEST_CASE(e1_what_was_set_in_this_process_is_where_it_starts_from) {
  const test::variable kept{"BERTH_TEST_KEPT", "a=b"};
  const test::variable blocked{"BERTH_TEST_TOKEN", "x"};
  const auto found = command_environment();
  BOOST_TEST(found.at("BERTH_TEST_KEPT") == "a=b");
  BOOST_TEST(found.count("BERTH_TEST_TOKEN") == 0U);
  BOOST_TEST(process_environment().count("BERTH_TEST_TOKEN") == 1U);
}

BOOST_AUTO_TEST_CASE(e2_names_with_a_telling_part_are_blocked_in_any_case) {
  for (const auto* name :
       {"KEY", "OPENAI_API_KEY", "ssh_key_file", "AWS_SECRET_ACCESS", "Client_Secret", "GITHUB_TOKEN", "token",
        "PGPASSWORD", "DB_PASS", "my_credential_x", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "dsn", "MONKEY"})
    BOOST_TEST(is_blocked_variable(name), name);
}

BOOST_AUTO_TEST_CASE(e3_exact_names_are_blocked_in_any_case) {
  for (const auto* name :
       {"DATABASE_URL",  "DATABASE_URI", "REDIS_URL",      "MONGODB_URI", "MONGO_URL",      "AMQP_URL",
        "RABBITMQ_URL",  "POSTGRES_URL", "POSTGRESQL_URL", "MYSQL_URL",   "CLICKHOUSE_URL", "CONNECTION_STRING",
        "CONN_STR",      "GH_PAT",       "GITHUB_PAT",     "MYSQL_PWD",   "REDISCLI_AUTH",  "REDIS_AUTH",
        "PGSERVICEFILE", "database_url", "Gh_Pat"})
    BOOST_TEST(is_blocked_variable(name), name);
}

BOOST_AUTO_TEST_CASE(e4_everything_else_is_kept_other_addresses_too) {
  for (const auto* name : {"PATH", "HOME", "SHELL", "LANG", "PWD", "OLDPWD", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH",
                           "BASE_URL", "API_URL", "MY_DATABASE_URL", "DATABASE_URL_2", "GH_PATH", "PAT", "AUTH", ""})
    BOOST_TEST(!is_blocked_variable(name), name);
}

BOOST_AUTO_TEST_CASE(e5_false_hits_are_blocked_on_purpose) {
  for (const auto* name : {"COMPASS_HOME", "BYPASS_X", "GIT_ASKPASS"})
    BOOST_TEST(is_blocked_variable(name), name);
}

BOOST_AUTO_TEST_SUITE_END()
