#include "runtime/signals.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace berth {

namespace {

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  // A terminal that is closed asks as well, unless the process was started to outlive it (nohup).
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaddset(&set, SIGHUP);
  return set;
}

} // namespace

signals::signals() {
  const auto set = watched();
  if (const auto failed = pthread_sigmask(SIG_BLOCK, &set, &former_mask_); failed != 0)
    throw std::system_error{failed, std::generic_category(), "cannot block SIGINT and SIGTERM"};
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  if (signal_fd_ < 0 || stop_fd_ < 0) {
    const auto failed = errno;
    close(signal_fd_);
    close(stop_fd_);
    pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
    throw std::system_error{failed, std::generic_category(), "cannot watch for SIGINT and SIGTERM"};
  }
  watcher_ = std::thread{[this] { watch(); }};
}

signals::~signals() {
  const std::uint64_t one = 1;
  while (write(stop_fd_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  watcher_.join();
  close(signal_fd_);
  close(stop_fd_);
  pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
}

int signals::wait() {
  std::unique_lock lock{mutex_};
  arrived_.wait(lock, [this] { return first_.has_value(); });
  return *first_;
}

std::optional<int> signals::wait_for(std::chrono::milliseconds bound) {
  std::unique_lock lock{mutex_};
  arrived_.wait_for(lock, bound, [this] { return first_.has_value(); });
  return first_;
}

void signals::on_first(std::function<void(int)> f) {
  const std::lock_guard lock{mutex_};
  if (first_)
    f(*first_);
  else
    notify_ = std::move(f);
}

void signals::watch() {
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{signal_fd_, POLLIN, 0}, pollfd{stop_fd_, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), -1) < 0)
      continue; // interrupted
    if (fds[1].revents != 0)
      return;
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info))
      continue;
    const auto number = static_cast<int>(info.ssi_signo);
    const std::lock_guard lock{mutex_};
    // Not exit(): its destructors would wait for the very stop that the user has lost patience with.
    if (first_)
      _exit(128 + number);
    first_ = number;
    arrived_.notify_all();
    if (notify_)
      notify_(number);
  }
}

void ignore_sigpipe() { ::signal(SIGPIPE, SIG_IGN); }

} // namespace berth
