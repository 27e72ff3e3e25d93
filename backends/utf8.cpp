#include "backends/utf8.hpp"

namespace berth {

namespace {

struct step {
  std::size_t size = 1; ///< bytes of the character, or of the invalid part
  bool valid = false;
};

step next(std::string_view text) {
  const auto at = [&](std::size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto lead = at(0);
  if (lead < 0x80)
    return {1, true};
  if (lead < 0xc2 || lead > 0xf4)
    return {1, false};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte has a narrower range after four leads: overlong forms, surrogates, and beyond U+10FFFF.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < low || at(1) > high)
    return {1, false};
  for (std::size_t i = 2; i < size; ++i)
    if ((at(i) & 0xc0) != 0x80)
      return {i, false};
  return {size, true};
}

} // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto s = next(text);
    if (!s.valid)
      return false;
    text.remove_prefix(s.size);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto s = next(text);
    out += s.valid ? text.substr(0, s.size) : std::string_view{"\xef\xbf\xbd"};
    text.remove_prefix(s.size);
  }
  return out;
}

} // namespace berth
