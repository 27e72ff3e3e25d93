// Error codes: each has a name and a text, carries its context, and CAF's own errors become one of them.
#include <boost/test/unit_test.hpp>

#include <set>

#include "tests/messages/virtual_system.hpp"

using namespace berth;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_code_has_a_distinct_name_and_a_distinct_text) {
  std::set<std::string> names;
  std::set<std::string_view> texts;
  for (std::uint8_t i = 0; i < errc_count; ++i) {
    const auto code = static_cast<errc>(i);
    BOOST_TEST(names.insert(to_string(code)).second, to_string(code));
    BOOST_TEST(texts.insert(describe(code)).second, describe(code));
    BOOST_TEST(!describe(code).empty());
    BOOST_TEST(to_string(code).find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
  }
  BOOST_TEST(names.size() == errc_count);
}

BOOST_AUTO_TEST_CASE(a_code_of_a_newer_peer_prints_its_number) {
  BOOST_TEST(to_string(static_cast<errc>(250)) == "errc(250)");
  BOOST_TEST(!describe(static_cast<errc>(250)).empty());
  BOOST_TEST((code_of(caf::error{250, errc_category}) == errc::protocol_error));
}

BOOST_AUTO_TEST_CASE(every_error_gives_back_its_code_and_context) {
  for (std::uint8_t i = 1; i < errc_count; ++i) {
    const auto code = static_cast<errc>(i);
    const auto bare = make_error(code);
    BOOST_TEST((code_of(bare) == code));
    BOOST_TEST(context_of(bare).empty());
    BOOST_TEST(explain(bare) == describe(code));
    const auto full = make_error(code, "sandbox.replicas: 0 is not between 1 and 100000");
    BOOST_TEST((code_of(full) == code));
    BOOST_TEST(context_of(full) == "sandbox.replicas: 0 is not between 1 and 100000");
    BOOST_TEST(explain(full) == std::string{describe(code)} + ": " + context_of(full));
  }
}

BOOST_AUTO_TEST_CASE(no_error_is_no_error) {
  BOOST_TEST((code_of(caf::error{}) == errc::none));
  BOOST_TEST(context_of(caf::error{}).empty());
  BOOST_TEST(!make_error(errc::none));
}

BOOST_AUTO_TEST_CASE(errors_of_the_actor_framework_are_translated) {
  BOOST_TEST((code_of(caf::make_error(caf::sec::request_timeout)) == errc::timed_out));
  BOOST_TEST((code_of(caf::make_error(caf::sec::request_receiver_down)) == errc::sandbox_gone));
  BOOST_TEST((code_of(caf::make_error(caf::exit_reason::kill)) == errc::shutting_down));
  BOOST_TEST((code_of(caf::make_error(caf::exit_reason::user_shutdown)) == errc::shutting_down));
  BOOST_TEST((code_of(caf::make_error(caf::sec::unexpected_response)) == errc::protocol_error));
  BOOST_TEST(context_of(caf::make_error(caf::sec::unexpected_response)).find("CAF error") == 0u);
}

BOOST_FIXTURE_TEST_CASE(an_error_crosses_a_node_boundary_with_its_context, test::virtual_system) {
  auto sent = make_error(errc::too_large, "workspace/a: 101 MiB, at most 100 MiB");
  caf::binary_serializer::container_type buffer;
  caf::binary_serializer sink{system, buffer};
  BOOST_TEST(!sink(sent));
  caf::error received;
  caf::binary_deserializer source{system, buffer};
  BOOST_TEST(!source(received));
  BOOST_TEST((code_of(received) == errc::too_large));
  BOOST_TEST(explain(received) == explain(sent));
}

BOOST_FIXTURE_TEST_CASE(a_system_renders_an_error_as_berth_explains_it, test::virtual_system) {
  const auto error = make_error(errc::lease_lost, "sandbox 0123456789abcdef");
  BOOST_TEST(system.render(error).find(explain(error)) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
