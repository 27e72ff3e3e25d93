#pragma once
// A scope as people write it, and the short id derived from it.
#include <string_view>

#include "messages/ids.hpp"

namespace berth {

/// The longest user and thread of a scope, in characters. They become folder names (spec N4).
inline constexpr std::size_t max_user_length = 128;
inline constexpr std::size_t max_thread_length = 64;

/// Checks that both parts match ^[A-Za-z0-9_-]+$ within their lengths; the error (errc::invalid_scope) names the part,
/// what was found and what would be right.
caf::error validate(const scope& x);

/// Reads `USER/THREAD`; the error says what is wrong with it.
caf::expected<scope> parse_scope(std::string_view text);

/// The first 16 hex digits of SHA-256 over the length-prefixed parts, so that no two scopes are joined to the same text.
/// 64 bits may still collide: whoever keys by it keeps the scope beside it and compares.
sandbox_id id_of(const scope& x);

} // namespace berth
