#include "runtime/version.hpp"

namespace berth {

std::string_view version() { return BERTH_VERSION; }

} // namespace berth
