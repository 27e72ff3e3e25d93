#include "tools/berth/workplace.hpp"

#include "tools/berth/progress.hpp"

namespace berth::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds slack = 15s;

// Unknown to a node that was started a moment ago means something else than unknown to one that runs.
caf::error unknown_here(const context& c, const session& link) {
  return make_error(errc::sandbox_unknown,
                    c.opts.who.text() + ": " + link.why_embedded()
                        + ", and one brought along knows no sandbox; start one with 'berth node'");
}

} // namespace

caf::error with_advice(const context& c, const caf::error& reason) {
  if (code_of(reason) != errc::sandbox_unknown && code_of(reason) != errc::sandbox_not_active)
    return reason;
  const auto scope = c.opts.who.owner ? to_text(*c.opts.who.owner) : std::string{"USER/THREAD"};
  return make_error(code_of(reason), c.opts.who.text() + ": run 'berth acquire " + scope + "' first");
}

std::chrono::milliseconds acquire_bound(const config& settings) {
  const auto& s = settings.sandbox;
  return s.acquire_timeout + s.create_timeout + s.stop_timeout + slack;
}

std::chrono::milliseconds release_bound(const config& settings) { return settings.sandbox.release_grace + slack; }

caf::expected<workplace> workplace::enter(const context& c, bool acquire_first) {
  auto link = session::open(c.settings, c.opts, c.events);
  if (!link)
    return link.error();
  workplace result;
  result.link_ = std::move(*link);
  result.release_bound_ = release_bound(c.settings);
  auto& node = *result.link_;
  if (node.embedded() && !c.opts.who.owner)
    return unknown_here(c, node);
  if (acquire_first || node.embedded()) {
    const progress shown{"acquiring the sandbox of " + c.opts.who.text()};
    // To give up here would leave a sandbox that nobody releases: a signal is heeded afterwards.
    auto lease = node.call<acquired>(node.provider(), acquire_bound(c.settings), acquire_sandbox{*c.opts.who.owner},
                                     on_signal::keep_waiting);
    if (!lease)
      return lease.error();
    result.lease_ = std::move(*lease);
  }
  auto handle =
      node.call<sandbox_actor>(node.provider(), short_bound, get_sandbox{c.opts.who.id}, on_signal::keep_waiting);
  if (!handle) {
    result.leave();
    return with_advice(c, handle.error());
  }
  result.handle_ = std::move(*handle);
  if (c.events->signalled() != 0) {
    result.leave();
    return make_error(errc::cancelled);
  }
  return result;
}

caf::error workplace::leave() {
  // What was active before is somebody else's to release.
  if (!lease_ || lease_->origin == acquire_origin::reused)
    return {};
  const progress shown{"releasing the sandbox"};
  const auto done =
      link_->call<released>(link_->provider(), release_bound_, release_sandbox{lease_->id}, on_signal::keep_waiting);
  lease_.reset();
  return done ? caf::error{} : done.error();
}

} // namespace berth::cli
