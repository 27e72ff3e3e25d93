#pragma once
// Is it text? UTF-8 as the Unicode standard defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#include <string>
#include <string_view>

namespace berth {

/// Whether all of `text` is valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

/// `text` with every maximal invalid part replaced by U+FFFD.
[[nodiscard]] std::string to_utf8(std::string_view text);

} // namespace berth
