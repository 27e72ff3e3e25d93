#include "runtime/random.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

namespace berth {

std::string random_hex() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device source;
  std::string result;
  for (int word = 0; word < 4; ++word) {
    auto bits = static_cast<std::uint32_t>(source());
    for (int digit = 0; digit < 8; ++digit, bits >>= 4)
      result += digits[bits & 15U];
  }
  return result;
}

} // namespace berth
