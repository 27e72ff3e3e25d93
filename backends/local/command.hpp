#pragma once
// One command on the event loop: its two pipes, its time limit, its answer.
#include <optional>

#include "backends/local/engine.hpp"
#include "backends/local/loop.hpp"
#include "backends/local/unique_fd.hpp"

namespace berth::local {

/// How long a killed group may take to be reaped before the answer is given anyway (spec X37).
inline constexpr std::chrono::seconds reap_limit{10};

/// How long a supervisor may stay silent after it was told to kill a command at its limit.
inline constexpr std::chrono::milliseconds kill_limit{700};

/// Answers once. Its pipes are drained for as long as anybody holds their other ends, also after the answer: a
/// background child never blocks on a full pipe. Loop thread only.
class command : public std::enable_shared_from_this<command> {
public:
  command(loop_context& loop, command_plan plan);
  ~command();
  command(const command&) = delete;
  command& operator=(const command&) = delete;

  [[nodiscard]] const command_plan& plan() const { return plan_; }
  [[nodiscard]] bool answered() const { return answered_; }

  /// Starts the time limit; `on_timeout` must kill the group. Where its end is not told within kill_limit after that,
  /// `on_silence` is called, and again as long as it answers true: wait on.
  void start_clock(std::function<void()> on_timeout, std::function<bool()> on_silence);

  /// Makes the pipes and starts to drain them. Returns the write ends, or errno.
  caf::expected<std::pair<unique_fd, unique_fd>> make_pipes();

  /// It will be ended by us on request: what it ends with is told as cancelled.
  void mark_cancelled() { cancelled_ = true; }

  /// Its own process ended. What it printed is awaited for one short grace, whoever holds the pipes: a background child
  /// may do so for ever.
  void on_ended(exit_status status);

  /// Ends it where it has not even started; its answer says cancelled.
  void end_if_waiting() {
    if (!holds_pipes_)
      on_ended({exit_kind::cancelled, 0});
  }

  /// It did not start, or its sandbox is gone.
  void fail(caf::error reason);

  /// Called when it is answered.
  void when_done(std::function<void()> f) { when_done_.push_back(std::move(f)); }

private:
  struct channel {
    explicit channel(asio::io_context& io) : pipe(io) {}
    asio::posix::stream_descriptor pipe;
    std::optional<stream_translator> translator;
    std::string kept;
    std::int64_t total = 0;
  };

  channel& at(stream s) { return s == stream::out ? out_ : err_; }
  void await_death(std::function<bool()> on_silence);
  void await_input(stream s);
  void drain(stream s);
  void keep(stream s, std::string_view data);
  void end_stream(stream s);
  void finish();
  void answer(caf::expected<executed> x);

  loop_context& loop_;
  command_plan plan_;
  channel out_;
  channel err_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point started_;
  std::optional<exit_status> status_;
  std::vector<std::function<void()>> when_done_;
  bool holds_pipes_ = false;
  bool timed_out_ = false;
  bool cancelled_ = false;
  bool answered_ = false;
};

} // namespace berth::local
