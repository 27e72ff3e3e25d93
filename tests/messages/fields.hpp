#pragma once
// Generic tools over inspectable structs: fill every field with a value of its own, flatten every field to text
// (also what printing hides), and count the fields a struct has.
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages/types.hpp"

namespace berth::test {

/// What fillers put into bytes and environment values, to be looked for where it must not appear.
inline const std::string secret = "s3cret";

template <class T>
inline constexpr bool is_annotation = std::is_base_of_v<caf::meta::annotation, std::decay_t<T>>;

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<caf::optional<T>> : std::true_type {};

/// An actor handle of any type.
template <class T>
concept handle = requires {
  T::has_weak_ptr_semantics;
};

/// Gives every field a value that differs from its default and from the other fields of its type.
class filler {
public:
  using result_type = void;
  explicit filler(caf::actor actor) : actor_(std::move(actor)) {}

  template <class... Ts>
  void operator()(Ts&&... xs) {
    (one(xs), ...);
  }

  template <class T>
  void one(T& x) {
    ++n_;
    if constexpr (is_annotation<T>) {
    } else if constexpr (std::is_same_v<T, bool>) {
      x = true;
    } else if constexpr (std::is_enum_v<T>) {
      x = static_cast<T>(x == static_cast<T>(1) ? 0 : 1);
    } else if constexpr (std::is_integral_v<T>) {
      const auto number = 1'000 + n_;
      x = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      x = "text " + std::to_string(n_);
    } else if constexpr (std::is_same_v<T, bytes>) {
      x.data = std::string{"\0\xff\n", 3} + secret + std::to_string(n_);
    } else if constexpr (std::is_same_v<T, environment>) {
      x.values = {{"NAME", secret + std::to_string(n_)}, {"EMPTY", ""}};
    } else if constexpr (is_vector<T>::value) {
      x.resize(2);
      one(x[0]);
      one(x[1]);
    } else if constexpr (is_optional<T>::value) {
      x = std::decay_t<decltype(*x)>{};
      one(*x);
    } else if constexpr (handle<T>) {
      x = caf::actor_cast<T>(actor_);
    } else {
      inspect(*this, x);
    }
  }

private:
  caf::actor actor_;
  int n_ = 0;
};

/// Collects every leaf as text, and counts the fields of the outermost struct.
class flattener {
public:
  using result_type = void;

  template <class... Ts>
  void operator()(Ts&&... xs) {
    if (depth_++ == 0)
      fields = (std::size_t{0} + ... + std::size_t{!is_annotation<Ts>});
    (one(xs), ...);
    --depth_;
  }

  template <class T>
  void one(T& x) {
    if constexpr (is_annotation<T>) {
    } else if constexpr (std::is_enum_v<T>) {
      leaves.push_back(std::to_string(static_cast<std::int64_t>(x)));
    } else if constexpr (std::is_integral_v<T>) {
      leaves.push_back(std::to_string(x));
    } else if constexpr (std::is_same_v<T, std::string>) {
      leaves.push_back(x);
    } else if constexpr (std::is_same_v<T, environment>) {
      fields = depth_ == 0 ? 1 : fields;
      for (auto& [name, value] : x.values)
        leaves.push_back(name + "=" + value);
    } else if constexpr (is_vector<T>::value) {
      leaves.push_back("size " + std::to_string(x.size()));
      for (auto& element : x)
        one(element);
    } else if constexpr (is_optional<T>::value) {
      leaves.push_back(x ? "some" : "none");
      if (x)
        one(*x);
    } else if constexpr (handle<T>) {
      leaves.push_back(to_string(caf::actor_cast<caf::strong_actor_ptr>(x)));
    } else {
      inspect(*this, x);
    }
  }

  std::vector<std::string> leaves;
  std::size_t fields = 0;

private:
  int depth_ = 0;
};

/// Initialises any field. CAF's optional converts from anything already; a second way would be ambiguous.
struct any_field {
  template <class T>
  requires(!is_optional<T>::value) operator T() const; // NOLINT(google-explicit-constructor)
};

template <class T, std::size_t... Is>
constexpr bool has_fields(std::index_sequence<Is...>) {
  return requires { T{(static_cast<void>(Is), any_field{})...}; };
}

/// The number of members of an aggregate.
template <class T, std::size_t N = 16>
constexpr std::size_t field_count() {
  if constexpr (N == 0 || has_fields<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return field_count<T, N - 1>();
}

} // namespace berth::test
