#pragma once
// The node's side of one supervisor: its process, its socket, and the commands that run under it.
#include <string>
#include <unordered_map>

#include "backends/local/command.hpp"
#include "backends/local/guest_protocol.hpp"

namespace berth::local {

/// Loop thread only. Lives until the process is reaped.
class guest_handle : public std::enable_shared_from_this<guest_handle> {
public:
  guest_handle(loop_context& loop, guest_plan plan);
  guest_handle(const guest_handle&) = delete;
  guest_handle& operator=(const guest_handle&) = delete;

  /// Starts the process; on_ready follows.
  void start();

  /// Closes the socket, which ends it; kills it after stop_limit. `done` follows when it is reaped.
  void stop(std::function<void()> done);

  /// Runs a command, or queues it.
  void run(command_plan plan);

  /// See engine::stop_commands.
  void stop_commands(const std::vector<std::uint64_t>& numbers, std::chrono::milliseconds grace,
                     std::function<void(std::int32_t)> done);

  /// Called when it is reaped, before all other callbacks.
  void when_gone(std::function<void()> f) { stopped_.push_back(std::move(f)); }

private:
  struct outgoing {
    guest::request head;
    std::string payload;
    unique_fd fds[3]; ///< out, err, memfd
  };

  caf::error spawn();
  void await_notice();
  void on_notice(const guest::notice& x);
  void await_end();
  void on_end();
  void await_stderr();
  void launch(const std::shared_ptr<command>& c);
  [[nodiscard]] bool is_heard();
  void give_up();
  void signal(std::uint64_t number, int sig);
  void send(outgoing x);
  void flush();
  [[nodiscard]] bool send_now(const outgoing& x, int& code);
  void ready(caf::error reason);
  void kill_process();

  loop_context& loop_;
  guest_plan plan_;
  asio::posix::stream_descriptor socket_;
  asio::posix::stream_descriptor process_; ///< a pidfd
  asio::posix::stream_descriptor stderr_;
  asio::steady_timer timer_;
  asio::steady_timer retry_;
  std::string complaint_; ///< the start of what it wrote to standard error
  std::unordered_map<std::uint64_t, std::shared_ptr<command>> commands_;
  std::deque<outgoing> outbox_;
  std::vector<std::function<void()>> stopped_;
  std::chrono::steady_clock::time_point heard_; ///< its last notice
  bool given_up_ = false;                       ///< killed because it did not answer
  bool up_ = false;
  bool stopping_ = false;
  bool gone_ = false;
};

} // namespace berth::local
