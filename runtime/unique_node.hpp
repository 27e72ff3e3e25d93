#pragma once

namespace berth::detail {

/// Does nothing; whoever calls it links unique_node.cpp, whose other function then replaces one of CAF's.
void link_unique_node_id();

} // namespace berth::detail
