#pragma once
// The event loop of the local backend: one thread that starts supervisors, passes them commands, drains every pipe and
// runs every timer; and a few threads for files. It knows no actors: it calls back, from its own threads, and whoever
// gave the callback turns it into a message.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <caf/expected.hpp>

#include "backends/local/paths.hpp"
#include "messages/operations.hpp"

namespace berth::local {

/// How to start the supervisor of one sandbox.
struct guest_plan {
  std::string instance;                     ///< the backend's unique name
  std::vector<std::string> argv;            ///< bwrap ... -- berth-guest, or berth-guest --adopt
  std::vector<std::string> env;             ///< NAME=VALUE
  bool namespaced = false;                  ///< its process 1 ends all with it
  std::function<void(caf::error)> on_ready; ///< once: ready, or why not
  std::function<void()> on_gone;            ///< once, after a ready: it ended, asked or not
};

/// One command to run under a supervisor.
struct command_plan {
  std::uint64_t guest = 0;
  std::uint64_t number = 0; ///< from next_number()
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;
  std::chrono::milliseconds timeout{0};
  std::int64_t cap = 0;                                             ///< bytes kept, and passed to on_output, per stream
  std::shared_ptr<const path_map> translation;                      ///< of what it prints; null = none
  std::function<void(stream, std::int64_t, std::string)> on_output; ///< may be empty
  std::function<void(caf::expected<executed>)> on_done;             ///< once
};

/// The name of the variable that marks every process of a sandbox without namespaces, so that what outlives its
/// supervisor is found.
inline constexpr char mark_name[] = "BERTH_SANDBOX";

class engine {
public:
  engine();

  /// Ends every supervisor, waits for them within `stop_limit`, and joins the threads. Not from a callback.
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Whether the caller is one of the engine's threads, which cannot destroy it.
  [[nodiscard]] bool is_own_thread() const;

  /// A number that no other command or supervisor of this engine has.
  std::uint64_t next_number();

  /// Starts a supervisor and returns its number.
  std::uint64_t start_guest(guest_plan plan);

  /// Ends a supervisor and everything below it; `done` follows when it was reaped, or at once if it is not known.
  void stop_guest(std::uint64_t guest, std::function<void()> done);

  /// Runs a command. Waits in line, its time limit running, where the process has no descriptors left for it.
  void run(command_plan plan);

  /// Signals these commands' groups with SIGTERM, after `grace` with SIGKILL. `done(count)` follows when all that ran
  /// have ended: count = how many were told.
  void stop_commands(std::uint64_t guest, std::vector<std::uint64_t> numbers, std::chrono::milliseconds grace,
                     std::function<void(std::int32_t)> done);

  /// Runs a blocking piece of work on a file thread.
  void offload(std::function<void()> work);

  /// The longest a supervisor may take to become ready, and to end before it is killed.
  static constexpr std::chrono::seconds ready_limit{10};
  static constexpr std::chrono::seconds stop_limit{5};

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Kills, by pidfd, every process that carries the mark of `instance` in its environment; repeated until none is left
/// or a second has passed. Returns how many.
int kill_marked(const std::string& instance);

} // namespace berth::local
