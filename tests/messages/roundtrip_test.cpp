// Every registered message type crosses a node boundary unchanged, and shows no more of itself than it may.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include "tests/messages/fields.hpp"
#include "tests/messages/virtual_system.hpp"

using namespace berth;
using namespace berth::test;

namespace {

using block = caf::id_block::berth;

// Calls f.template operator()<T>() for each type of the block: a type registered later is tested without being named.
template <class F, std::size_t... Is>
void for_each_type(F f, std::index_sequence<Is...>) {
  (f.template operator()<typename caf::type_by_id<block::begin + Is>::type>(), ...);
}
template <class F>
std::size_t for_each_type(F f) {
  constexpr std::size_t n = block::end - block::begin;
  for_each_type(std::move(f), std::make_index_sequence<n>{});
  return n;
}

template <class T>
std::string name_of_type() {
  return caf::type_name<T>::value;
}

template <class T>
T filled(const caf::actor& actor) {
  T x{};
  filler f{actor};
  f.one(x);
  return x;
}

template <class T>
flattener flat(T& x) {
  flattener f;
  f.one(x);
  return f;
}

struct fixture : virtual_system {
  caf::actor somebody = system.spawn([] { return caf::behavior{[](int) {}}; });
  ~fixture() { end(somebody); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(messages, fixture)

BOOST_AUTO_TEST_CASE(every_registered_type_keeps_every_field_over_the_wire) {
  const auto count = for_each_type([this]<class T>() {
    BOOST_TEST_CONTEXT(name_of_type<T>()) {
      auto sent = filled<T>(somebody);
      caf::binary_serializer::container_type buffer;
      caf::binary_serializer sink{system, buffer};
      BOOST_TEST(!sink(sent));
      T received{};
      caf::binary_deserializer source{system, buffer};
      BOOST_TEST(!source(received));
      const auto want = flat(sent);
      BOOST_TEST(flat(received).leaves == want.leaves, boost::test_tools::per_element());
      BOOST_TEST(caf::deep_to_string(received) == caf::deep_to_string(sent));
      T untouched{};
      if (want.fields > 0)
        BOOST_TEST((flat(untouched).leaves != want.leaves));
    }
  });
  BOOST_TEST(count > 100u);
}

BOOST_AUTO_TEST_CASE(every_registered_type_is_known_by_name_inside_a_message) {
  for_each_type([this]<class T>() {
    BOOST_TEST_CONTEXT(name_of_type<T>()) {
      auto sent = filled<T>(somebody);
      const auto message = caf::make_message(sent);
      caf::binary_serializer::container_type buffer;
      caf::binary_serializer sink{system, buffer};
      BOOST_TEST(!sink(message));
      caf::message received;
      caf::binary_deserializer source{system, buffer};
      BOOST_TEST(!source(received));
      if (std::is_same_v<T, errc>) { // alone in a message, a code travels as the error it makes
        BOOST_TEST(received.match_elements<caf::error>());
        return;
      }
      BOOST_TEST_REQUIRE(received.match_elements<T>());
      auto copy = received.get_as<T>(0);
      BOOST_TEST(flat(copy).leaves == flat(sent).leaves, boost::test_tools::per_element());
    }
  });
}

BOOST_AUTO_TEST_CASE(no_struct_has_a_field_that_its_inspection_forgets) {
  for_each_type([this]<class T>() {
    if constexpr (std::is_aggregate_v<T>)
      BOOST_TEST_CONTEXT(name_of_type<T>()) {
        auto x = filled<T>(somebody);
        BOOST_TEST(flat(x).fields == field_count<T>());
      }
  });
}

BOOST_AUTO_TEST_CASE(every_cut_short_message_is_refused) {
  for_each_type([this]<class T>() {
    BOOST_TEST_CONTEXT(name_of_type<T>()) {
      auto sent = filled<T>(somebody);
      caf::binary_serializer::container_type buffer;
      caf::binary_serializer sink{system, buffer};
      BOOST_TEST(!sink(sent));
      if (!buffer.empty()) {
        buffer.pop_back();
        T received{};
        caf::binary_deserializer source{system, buffer};
        BOOST_TEST(!!source(received));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(no_message_prints_file_contents_output_or_environment_values) {
  std::size_t hiding = 0;
  for_each_type([&]<class T>() {
    auto x = filled<T>(somebody);
    const auto leaves = flat(x).leaves;
    hiding += std::any_of(leaves.begin(), leaves.end(),
                          [](const auto& leaf) { return leaf.find(secret) != std::string::npos; });
    for (const auto& text : {caf::deep_to_string(x), to_string(caf::make_message(x))})
      BOOST_TEST(text.find(secret) == std::string::npos, name_of_type<T>() << " prints " << text);
  });
  BOOST_TEST(hiding
             >= 7u); // bytes, environment, execute, output_chunk, executed, file_content, write_file, update_file
}

BOOST_AUTO_TEST_CASE(hidden_values_print_what_may_be_known_of_them) {
  BOOST_TEST(caf::deep_to_string(bytes{"12345"}) == "berth::bytes(5)");
  const auto text = caf::deep_to_string(environment{{{"TOKEN", secret}}});
  BOOST_TEST(text.find("TOKEN") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_enumerator_has_a_printed_name_of_its_own) {
  for_each_type([]<class T>() {
    if constexpr (std::is_enum_v<T>)
      BOOST_TEST_CONTEXT(name_of_type<T>()) {
        std::set<std::string> names;
        int value = 0;
        for (; value < 255; ++value) {
          const auto name = to_string(static_cast<T>(value));
          if (name.find_first_of("?(") != std::string::npos)
            break;
          BOOST_TEST(names.insert(name).second, "twice: " << name);
        }
        BOOST_TEST(value >= 2);
      }
  });
}

BOOST_AUTO_TEST_SUITE_END()
