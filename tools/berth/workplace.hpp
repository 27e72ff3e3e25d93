#pragma once
// The sandbox that a command works in: found on a running node, or acquired for this command alone.
#include <memory>
#include <optional>

#include "tools/berth/commands.hpp"
#include "tools/berth/session.hpp"

namespace berth::cli {

/// How long an acquire may take: the wait for a slot, an eviction and the creation.
std::chrono::milliseconds acquire_bound(const config& settings);

/// How long a release may take.
std::chrono::milliseconds release_bound(const config& settings);

/// How long a question to a node may take that it answers from memory, or a file operation.
inline constexpr std::chrono::milliseconds short_bound{15'000};
inline constexpr std::chrono::milliseconds file_bound{330'000};

/// The error, and where the sandbox has to be acquired first, how.
caf::error with_advice(const context& c, const caf::error& reason);

/// A sandbox to work in. Leaves it as it was found: what was acquired here is released here.
class workplace {
public:
  /// Opens a session and finds the sandbox, or with `acquire_first` acquires it. On an embedded node a scope is always
  /// acquired, and an id is unknown. Errors: those of session::open, get_sandbox and acquire_sandbox.
  static caf::expected<workplace> enter(const context& c, bool acquire_first);

  /// Releases the sandbox if it was acquired here. Errors: those of release_sandbox.
  caf::error leave();

  [[nodiscard]] session& link() { return *link_; }
  [[nodiscard]] const sandbox_actor& handle() const { return handle_; }
  /// What the acquire answered, where there was one.
  [[nodiscard]] const std::optional<acquired>& lease() const { return lease_; }

private:
  workplace() = default;

  std::unique_ptr<session> link_;
  sandbox_actor handle_;
  std::optional<acquired> lease_;
  std::chrono::milliseconds release_bound_{0};
};

} // namespace berth::cli
