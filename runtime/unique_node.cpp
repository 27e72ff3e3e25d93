// CAF names a node by a hash of the machine's network addresses and root disk, and the process id. In containers all of
// these are often equal, so that two nodes take each other for themselves, and a restarted one passes for its
// predecessor. This definition of the function that reads the root disk's UUID goes before the one in libcaf_core.
#include "runtime/unique_node.hpp"

#include <string>

#include <caf/detail/get_root_uuid.hpp>

#include "runtime/random.hpp"

namespace berth::detail {

void link_unique_node_id() {}

} // namespace berth::detail

namespace caf::detail {

std::string get_root_uuid() { return berth::random_hex(); }

} // namespace caf::detail
