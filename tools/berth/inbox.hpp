#pragma once
// Where the main thread waits: for what actors have to tell, and for signals.
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>

namespace berth::cli {

/// How a wait ended.
enum class waited { done, signalled, late };

/// A queue of work for the main thread.
class inbox {
public:
  inbox();
  ~inbox();
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Has `work` run by the main thread, in the order of posting. From any thread.
  void post(std::function<void()> work);

  /// Tells that a signal has arrived: SIGINT or SIGTERM. From any thread.
  void signal(int number);

  /// The signal that has arrived, or 0.
  [[nodiscard]] int signalled() const { return signal_.load(); }

  /// Runs what is posted until `done()` holds, not longer than `bound`. With `heed_signals` it also returns when a
  /// signal has arrived, now or before.
  waited run_until(const std::function<bool()>& done, std::chrono::milliseconds bound, bool heed_signals);

private:
  void run_posted(const std::function<bool()>& enough);

  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
  std::atomic<int> signal_{0};
  int wake_ = -1; // an eventfd
};

} // namespace berth::cli
