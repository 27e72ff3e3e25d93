#pragma once
// The part of a node that goes through CAF's middleman: publishing a provider, and the other side, connect (node.hpp).
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/actors.hpp"

namespace berth::detail {

/// What both ends must agree on before they exchange messages. Grows when an old peer could not follow any more.
inline constexpr std::string_view protocol_name = "berth-1";

/// See node::publish.
caf::expected<std::uint16_t> publish_provider(caf::actor_system& system, const provider_actor& provider,
                                              const std::string& host, std::uint16_t port);

/// Closes a port that publish_provider opened.
void unpublish_provider(caf::actor_system& system, const provider_actor& provider, std::uint16_t port);

} // namespace berth::detail
