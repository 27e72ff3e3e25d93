#include "actors/scope.hpp"

#include <array>

#include <openssl/evp.h>

namespace berth {

namespace {

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

caf::error check_part(std::string_view part, const char* name, std::size_t limit) {
  const auto what = std::string{name} + " ";
  if (part.empty())
    return make_error(errc::invalid_scope,
                      what + "is empty; give 1 to " + std::to_string(limit) + " characters of A-Z a-z 0-9 _ -");
  if (part.size() > limit)
    return make_error(errc::invalid_scope, what + "has " + std::to_string(part.size()) + " characters; at most "
                                               + std::to_string(limit) + " are allowed");
  const auto bad = std::find_if_not(part.begin(), part.end(), is_allowed);
  if (bad != part.end()) {
    // Never echo control bytes into a terminal or a log.
    const auto byte = static_cast<unsigned char>(*bad);
    const auto shown = byte > 0x20 && byte < 0x7f ? "'" + std::string(1, *bad) + "'" : "byte " + std::to_string(byte);
    return make_error(errc::invalid_scope, what + "holds " + shown + " at position "
                                               + std::to_string(bad - part.begin() + 1)
                                               + "; only A-Z a-z 0-9 _ - are allowed");
  }
  return {};
}

} // namespace

caf::error validate(const scope& x) {
  if (auto e = check_part(x.user, "user", max_user_length))
    return e;
  return check_part(x.thread, "thread", max_thread_length);
}

caf::expected<scope> parse_scope(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos)
    return make_error(errc::invalid_scope, "a scope is written USER/THREAD; there is no '/' in it");
  scope x{std::string{text.substr(0, slash)}, std::string{text.substr(slash + 1)}};
  if (auto e = validate(x))
    return e;
  return x;
}

sandbox_id id_of(const scope& x) {
  std::string joined;
  for (const auto* part : {&x.user, &x.thread})
    joined += std::to_string(part->size()) + ":" + *part;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(joined.data(), joined.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  for (std::size_t i = 0; i < 8; ++i) {
    id += digits[digest[i] >> 4];
    id += digits[digest[i] & 15];
  }
  return {id};
}

} // namespace berth
