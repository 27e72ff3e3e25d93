#pragma once
// A sign of life on a terminal: nothing for the first second, then one line with the elapsed time, erased at the end.
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace berth::cli {

/// Shows `what` while it lives, on standard error, if that is a terminal. Destroy or `end` it before other output.
class progress {
public:
  explicit progress(std::string what);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Erases the line, for good.
  void end();

private:
  void show(const std::stop_token& stop);

  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_; // none where nobody looks on
};

} // namespace berth::cli
