#pragma once
// SIGINT, SIGTERM and SIGHUP as events of an ordinary thread.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <signal.h>

namespace berth {

/// Signal handlers may do next to nothing, so there is none: the signals are blocked and one thread reads them.
/// SIGHUP counts unless it was ignored at the start (nohup).
///
/// The first asks for an orderly stop; who waits here carries it out. A second one ends the process at once, with
/// status 130 (SIGINT), 143 (SIGTERM) or 129 (SIGHUP), whatever the orderly stop is doing.
///
/// Make it first thing in main: threads inherit the mask, and one that was started earlier would still take the
/// signals the old way. Programs started by this one must be given an empty mask.
class signals {
public:
  /// Throws std::system_error where the kernel refuses.
  signals();
  /// Ends the thread and restores the mask.
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  /// Waits for the first signal and answers its number.
  int wait();

  /// The same, bounded; nothing when none came.
  std::optional<int> wait_for(std::chrono::milliseconds bound);

  /// Calls `f` with the first signal's number, from the watching thread; at once when it has come already. For who
  /// waits for other things as well. `f` must not outlive what it touches: this object is to end before that does.
  void on_first(std::function<void(int)> f);

private:
  void watch();

  sigset_t former_mask_{};
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::optional<int> first_;
  std::function<void(int)> notify_;
  std::thread watcher_;
};

/// A peer that hangs up must be an error of one write and not the end of the process. For programs: a library does not
/// change how its host treats signals.
void ignore_sigpipe();

} // namespace berth
