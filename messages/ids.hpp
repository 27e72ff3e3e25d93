#pragma once
// Strong names for everything that is counted, keyed or compared.
#include <cstdint>
#include <functional>
#include <string>

#include "messages/caf.hpp"

namespace berth {

/// Whose sandbox: one user's one conversation. Equal scopes share a sandbox, different scopes never do.
struct scope {
  std::string user;
  std::string thread;
  friend bool operator==(const scope&, const scope&) = default;
  friend auto operator<=>(const scope&, const scope&) = default;
};
BERTH_MESSAGE(scope, user, thread)

/// `USER/THREAD`, as people write it.
inline std::string to_text(const scope& x) { return x.user + "/" + x.thread; }

#define BERTH_STRING_ID(type)                                                                                          \
  struct type {                                                                                                        \
    std::string value;                                                                                                 \
    friend bool operator==(const type&, const type&) = default;                                                        \
    friend auto operator<=>(const type&, const type&) = default;                                                       \
    [[nodiscard]] bool empty() const { return value.empty(); }                                                         \
  };                                                                                                                   \
  BERTH_MESSAGE(type, value)

/// 16 hex digits derived from a scope (see actors/scope.hpp): the key of the sandbox actor, of its lease and of its
/// name at a backend that names.
BERTH_STRING_ID(sandbox_id)
/// One node of the fleet, unique per process start: `HOST:` and 32 hex digits. The owner in a lease.
BERTH_STRING_ID(node_id)
/// The backend's own unique name of one running sandbox. Never reused, unlike a sandbox_id: a destroy addresses this.
BERTH_STRING_ID(instance_id)
/// One running command, unique within its node.
BERTH_STRING_ID(exec_id)

/// Grows with every change of a lease's owner and never falls: who carries the larger one is the later owner.
struct fencing_epoch {
  std::uint64_t value = 0;
  friend bool operator==(const fencing_epoch&, const fencing_epoch&) = default;
  friend auto operator<=>(const fencing_epoch&, const fencing_epoch&) = default;
};
BERTH_MESSAGE(fencing_epoch, value)

} // namespace berth

namespace std {
template <>
struct hash<berth::scope> {
  size_t operator()(const berth::scope& x) const noexcept {
    return hash<string>{}(x.user) * 31 + hash<string>{}(x.thread);
  }
};
template <>
struct hash<berth::sandbox_id> {
  size_t operator()(const berth::sandbox_id& x) const noexcept { return hash<string>{}(x.value); }
};
template <>
struct hash<berth::exec_id> {
  size_t operator()(const berth::exec_id& x) const noexcept { return hash<string>{}(x.value); }
};
template <>
struct hash<berth::instance_id> {
  size_t operator()(const berth::instance_id& x) const noexcept { return hash<string>{}(x.value); }
};
} // namespace std
