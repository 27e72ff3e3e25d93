#pragma once
#include <string>

namespace berth {

/// 32 hex digits from the system's random source.
std::string random_hex();

} // namespace berth
