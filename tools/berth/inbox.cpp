#include "tools/berth/inbox.hpp"

#include <algorithm>
#include <system_error>

#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace berth::cli {

inbox::inbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0)
    throw std::system_error(errno, std::generic_category(), "eventfd");
}

inbox::~inbox() { ::close(wake_); }

void inbox::post(std::function<void()> work) {
  {
    const std::lock_guard lock{mutex_};
    posted_.push_back(std::move(work));
  }
  [[maybe_unused]] const auto written = ::eventfd_write(wake_, 1);
}

void inbox::signal(int number) {
  signal_ = number;
  [[maybe_unused]] const auto written = ::eventfd_write(wake_, 1);
}

void inbox::run_posted(const std::function<bool()>& enough) {
  while (!enough()) {
    std::function<void()> work;
    {
      const std::lock_guard lock{mutex_};
      if (posted_.empty())
        return;
      work = std::move(posted_.front());
      posted_.pop_front();
    }
    work();
  }
}

waited inbox::run_until(const std::function<bool()>& done, std::chrono::milliseconds bound, bool heed_signals) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + bound;
  for (;;) {
    eventfd_t posts = 0;
    [[maybe_unused]] const auto read = ::eventfd_read(wake_, &posts); // before looking: a later post wakes us again
    // A flood of posts must not hide a signal.
    run_posted([&] { return done() || (heed_signals && signalled() != 0); });
    if (done())
      return waited::done;
    if (heed_signals && signalled() != 0)
      return waited::signalled;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
    if (left.count() <= 0)
      return waited::late;
    constexpr std::chrono::milliseconds longest{3'600'000};
    pollfd ready{wake_, POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::min(left, longest).count()));
  }
}

} // namespace berth::cli
