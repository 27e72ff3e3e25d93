#pragma once
// Names that listings and searches leave out (spec: contract.md section 7).
#include <string_view>

namespace berth {

/// Whether a file or directory of this name is left out. One segment, not a path; case counts.
[[nodiscard]] bool is_ignored(std::string_view name);

} // namespace berth
