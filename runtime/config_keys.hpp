#pragma once
// The one table of configuration keys. Everything that knows a key knows it from here.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/config.hpp"

namespace berth::detail {

/// A decimal number of seconds, kept as milliseconds.
struct seconds_key {
  std::chrono::milliseconds& (*at)(config&);
  std::int64_t least_ms;
  std::int64_t most_ms;
};

/// An integer.
struct count_key {
  std::int32_t& (*at)(config&);
  std::int64_t least;
  std::int64_t most;
};

/// One of a few words.
struct choice_key {
  std::vector<std::string> names;
  std::function<void(config&, std::size_t)> set; ///< by position in `names`
  std::function<std::size_t(const config&)> get;
  std::string_view noun = "value";                                ///< what the words are, for error texts
  std::vector<std::pair<std::string, std::string>> unavailable{}; ///< known words that are refused, and why
};

/// Free text; `wrong` says what would be right, or nothing when it is.
struct text_key {
  std::string& (*at)(config&);
  std::string (*wrong)(const std::string&);
};

/// A list of texts; `wrong` judges each.
struct text_list_key {
  std::vector<std::string>& (*at)(config&);
  std::string (*wrong)(const std::string&);
};

/// Variable names with their values, which are never shown.
struct variables_key {
  std::map<std::string, std::string>& (*at)(config&);
};

using key_kind = std::variant<seconds_key, count_key, choice_key, text_key, text_list_key, variables_key>;

/// One key: where it is, what it means, what it holds.
struct key {
  std::string_view path; ///< `sandbox.idle_timeout`
  std::string_view doc;  ///< one or two sentences for people
  key_kind kind;
};

/// A section and what it is about.
struct section {
  std::string_view path; ///< `sandbox.local`
  std::string_view doc;
};

/// All sections, outer before inner.
const std::vector<section>& sections();

/// All keys, in the order in which the reference prints them; those of a section are adjacent.
const std::vector<key>& keys();

/// What a key accepts, as it ends the sentence "'x' is not ...": `a number of seconds between 0 and 31536000`.
std::string expectation(const key& k);

/// The key's value in `settings` as it is written in YAML.
std::string shown(const key& k, const config& settings);

/// The section part of a path (`sandbox.local` of `sandbox.local.binds`); empty for a top-level name.
std::string_view parent_of(std::string_view path);

/// The last part of a path.
std::string_view leaf_of(std::string_view path);

/// The candidate that was probably meant by `written`: within a third of its letters, ignoring case; else empty.
std::string nearest(std::string_view written, const std::vector<std::string>& candidates);

/// `names` as people list them: `a, b or c`.
std::string listed(const std::vector<std::string>& names);

/// Milliseconds as a decimal number of seconds without superfluous zeros.
std::string seconds_text(std::int64_t ms);

} // namespace berth::detail
