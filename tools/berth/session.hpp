#pragma once
// How a command reaches a node: one that listens, or one brought along for this command alone.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "messages/actors.hpp"
#include "runtime/config.hpp"
#include "runtime/node.hpp"
#include "tools/berth/inbox.hpp"
#include "tools/berth/options.hpp"

namespace berth::cli {

/// What a first signal does to a call that waits.
enum class on_signal {
  give_up,     ///< the call fails with errc::cancelled
  keep_waiting ///< only the second one, which ends the process
};

/// A connection to a node, and the actor system around it.
class session {
public:
  /// Looks for a node where `settings` (or --node) says, else starts an embedded one. Errors: unreachable (--node names
  /// a place where nothing listens), those of connect and those of node::start.
  static caf::expected<std::unique_ptr<session>> open(const config& settings, const options& opts,
                                                      std::shared_ptr<inbox> events);

  /// Starts a node in any case.
  static caf::expected<std::unique_ptr<session>> start_node(const config& settings, std::shared_ptr<inbox> events);

  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Whether the node lives in this process and ends with it.
  [[nodiscard]] bool embedded() const { return node_ != nullptr; }
  /// Where a node was looked for: HOST:PORT.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Why there is no running node to talk to, as the beginning of a sentence: `no node listens on HOST:PORT`.
  [[nodiscard]] std::string why_embedded() const;
  [[nodiscard]] const provider_actor& provider() const { return provider_; }
  /// The embedded node; null otherwise.
  [[nodiscard]] node* own_node() { return node_.get(); }
  [[nodiscard]] inbox& events() { return *inbox_; }
  [[nodiscard]] caf::actor_system& system() { return *system_; }

  /// Asks `dest` and waits for the answer, at most `bound`. Errors: the answer's; timed_out; cancelled (a signal);
  /// sandbox_gone (the node went away meanwhile).
  template <class Reply, class Handle, class Request>
  caf::expected<Reply> call(const Handle& dest, std::chrono::milliseconds bound, Request request,
                            on_signal signals = on_signal::give_up) {
    auto pending = begin<Reply>(dest, bound, std::move(request), {});
    return finish(pending, bound, signals);
  }

  /// A call under way. `finish` it.
  template <class Reply>
  struct pending_call {
    std::shared_ptr<caf::optional<caf::expected<Reply>>> slot;
    caf::actor worker;
    [[nodiscard]] bool done() const { return static_cast<bool>(*slot); }
  };

  /// Starts a call without waiting. `prepare_request` may put the worker, which forwards output chunks to `on_chunk`
  /// in the main thread, into the request.
  template <class Reply, class Handle, class Request>
  pending_call<Reply> begin(const Handle& dest, std::chrono::milliseconds bound, Request request,
                            std::function<void(const output_chunk&)> on_chunk) {
    pending_call<Reply> result;
    result.slot = std::make_shared<caf::optional<caf::expected<Reply>>>();
    const auto post = [box = inbox_, slot = result.slot](caf::expected<Reply> x) {
      box->post([slot, x = std::move(x)]() mutable {
        if (!*slot)
          *slot = std::move(x);
      });
    };
    result.worker = system_->spawn([=, box = inbox_, node = provider_](untyped_self_ptr<worker_state> self) {
      // Of all that is asked only the provider lives as long as its node.
      self->monitor(node);
      self->set_down_handler([=](const caf::down_msg&) {
        post(make_error(errc::sandbox_gone, "the node went away; what it was doing for us may have run"));
        self->quit();
      });
      self->become([=](const output_chunk& chunk) {
        if (on_chunk)
          box->post([=] { on_chunk(chunk); });
      });
      auto with_subscriber = request;
      if constexpr (std::is_same_v<Request, execute>)
        with_subscriber.subscriber = caf::actor_cast<caf::actor>(self);
      ask(
          self, dest, bound, std::move(with_subscriber),
          [=](const Reply& x) {
            post(x);
            self->quit();
          },
          [=](const caf::error& e) {
            post(e);
            self->quit();
          });
    });
    return result;
  }

  /// Waits for a call, at most `bound` and a little.
  template <class Reply>
  caf::expected<Reply> finish(const pending_call<Reply>& pending, std::chrono::milliseconds bound, on_signal signals) {
    constexpr std::chrono::milliseconds margin{2000}; // the worker's own bound comes first
    const auto end = inbox_->run_until([&] { return pending.done(); }, bound + margin, signals == on_signal::give_up);
    if (end == waited::done)
      return std::move(**pending.slot);
    caf::anon_send_exit(pending.worker, caf::exit_reason::user_shutdown);
    return make_error(end == waited::signalled ? errc::cancelled : errc::timed_out);
  }

private:
  struct worker_state {
    static inline const char* name = "command";
    worker_state() = default;
  };

  explicit session(std::shared_ptr<inbox> events);
  caf::error connect_to(const std::string& address);
  caf::error start_embedded(const config& settings);

  struct system_config;
  std::shared_ptr<inbox> inbox_;
  std::unique_ptr<system_config> config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<node> node_;
  provider_actor provider_;
  std::string address_;
  bool looked_for_ = false;
  std::chrono::milliseconds stop_bound_{0};
};

} // namespace berth::cli
