#pragma once
// Values that know how much of themselves they may show.
#include <map>
#include <string>
#include <type_traits>

#include <caf/detail/stringification_inspector.hpp>

#include "messages/caf.hpp"

namespace berth {

/// Bytes of a file or an output stream; any value. Prints as its size only, so that no trace or log carries contents.
struct bytes {
  std::string data;
  friend bool operator==(const bytes&, const bytes&) = default;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& i, bytes& x) {
  if constexpr (std::is_base_of_v<caf::detail::stringification_inspector, Inspector>) {
    auto size = x.data.size();
    return i(caf::meta::type_name("berth::bytes"), size);
  } else {
    return i(caf::meta::type_name("berth::bytes"), x.data);
  }
}

/// Environment variables of one command. They carry request-scoped secrets: prints names, never values.
struct environment {
  std::map<std::string, std::string> values;
  friend bool operator==(const environment&, const environment&) = default;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& i, environment& x) {
  if constexpr (std::is_base_of_v<caf::detail::stringification_inspector, Inspector>) {
    std::vector<std::string> names;
    for (const auto& [name, value] : x.values)
      names.push_back(name);
    return i(caf::meta::type_name("berth::environment"), names);
  } else {
    return i(caf::meta::type_name("berth::environment"), x.values);
  }
}

/// A value or nothing. CAF 0.17 can send its own optional, not the standard one.
template <class T>
using optional = caf::optional<T>;

} // namespace berth
