#include <boost/test/unit_test.hpp>

#include "actors/scope.hpp"

using namespace berth;

BOOST_AUTO_TEST_CASE(N4_a_scope_part_is_letters_digits_underscore_and_dash) {
  BOOST_TEST(!validate({"alice-1", "T_9"}));
  BOOST_TEST(!validate({std::string(max_user_length, 'u'), std::string(max_thread_length, 't')}));
  for (const auto& bad :
       {scope{"", "t"}, scope{"u", ""}, scope{"..", "t"}, scope{"u", "../x"}, scope{"u", "a b"}, scope{"u", "a:b"},
        scope{"u", std::string(max_thread_length + 1, 't')}, scope{std::string(max_user_length + 1, 'u'), "t"},
        scope{"u", std::string("a\0b", 3)}, scope{"na\xc3\xafve", "t"}}) {
    const auto e = validate(bad);
    BOOST_TEST(to_string(code_of(e)) == "invalid_scope");
    BOOST_TEST(!context_of(e).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_refused_scope_is_told_what_and_where_without_echoing_control_bytes) {
  BOOST_TEST(context_of(validate({"u", "a..b"})) == "thread holds '.' at position 2; only A-Z a-z 0-9 _ - are allowed");
  BOOST_TEST(context_of(validate({"a\x1b[2J", "t"})).find("byte 27") != std::string::npos);
  BOOST_TEST(context_of(validate({"", "t"})).find("user is empty") == 0U);
}

BOOST_AUTO_TEST_CASE(a_scope_is_read_from_its_written_form) {
  const auto x = parse_scope("alice/t1");
  BOOST_REQUIRE(x);
  BOOST_TEST((*x == scope{"alice", "t1"}));
  BOOST_TEST(!parse_scope("alice"));
  BOOST_TEST(!parse_scope("alice/t1/x"));
  BOOST_TEST(!parse_scope("/t1"));
}

BOOST_AUTO_TEST_CASE(N5_the_id_is_sixteen_hex_digits_and_no_two_scopes_are_joined_to_one_text) {
  const auto id = id_of({"alice", "t1"}).value;
  BOOST_TEST(id.size() == 16U);
  BOOST_TEST(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(id == id_of({"alice", "t1"}).value);
  // First 16 digits of: printf '5:alice2:t1' | sha256sum
  BOOST_TEST(id == "9e0889c13776a143");
  BOOST_TEST(id_of({"a", "b-c"}).value != id_of({"a-b", "c"}).value);
  BOOST_TEST(id_of({"ab", "c"}).value != id_of({"a", "bc"}).value);
}
