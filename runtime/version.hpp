#pragma once
#include <string_view>

namespace berth {

/// berth's version, `MAJOR.MINOR.PATCH`.
std::string_view version();

} // namespace berth
