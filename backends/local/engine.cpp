#include "backends/local/engine.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <future>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unordered_map>

#include "backends/local/guest_handle.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/thread_pool.hpp>

#include "messages/errors.hpp"

namespace berth::local {

namespace {

/// Two pipe ends per command stay with us while anybody holds the others: half of what the process may open is left for
/// everything else.
std::size_t command_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 16'384;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 8, 16'384);
}

constexpr std::size_t file_threads = 2;

} // namespace

struct engine::parts {
  loop_context loop;
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.io.get_executor()};
  asio::thread_pool files{file_threads};
  asio::steady_timer patience{loop.io};
  std::unordered_map<std::uint64_t, std::shared_ptr<guest_handle>> guests;
  std::atomic<std::uint64_t> next{1};
  std::thread thread;

  template <class F>
  void post(F f) {
    asio::post(loop.io, std::move(f));
  }

  guest_handle* find(std::uint64_t number) {
    const auto i = guests.find(number);
    return i == guests.end() ? nullptr : i->second.get();
  }
};

engine::engine() : parts_(std::make_unique<parts>()) {
  parts_->loop.command_limit = command_limit();
  // Supervisors die with the thread that started them (PR_SET_PDEATHSIG): this one lives as long as the backend.
  parts_->thread = std::thread{[p = parts_.get()] {
    sigset_t all; // signals are for the host's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    p->loop.io.run();
  }};
}

engine::~engine() {
  parts_->post([p = parts_.get()] {
    const auto all = std::make_shared<std::vector<std::shared_ptr<guest_handle>>>();
    for (const auto& [number, guest] : p->guests)
      all->push_back(guest);
    for (const auto& guest : *all)
      guest->stop([] {});
    p->work.reset();
    // A process that not even SIGKILL ends (it hangs in the kernel) must not hold us for ever.
    p->patience.expires_after(stop_limit * 2);
    p->patience.async_wait([p](std::error_code ec) {
      if (!ec)
        p->loop.io.stop();
    });
    // Pipes that somebody outside may hold must not keep the loop: it ends when the supervisors are reaped.
    const auto ended = [p] {
      if (p->guests.empty())
        p->loop.io.stop();
    };
    for (const auto& guest : *all)
      guest->when_gone(ended);
    ended();
  });
  parts_->thread.join();
  parts_->files.join();
  parts_->loop.waiting.clear();
}

bool engine::is_own_thread() const {
  return std::this_thread::get_id() == parts_->thread.get_id() || parts_->files.get_executor().running_in_this_thread();
}

std::uint64_t engine::next_number() { return parts_->next.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t engine::start_guest(guest_plan plan) {
  const auto number = next_number();
  parts_->post([p = parts_.get(), number, plan = std::move(plan)]() mutable {
    auto guest = std::make_shared<guest_handle>(p->loop, std::move(plan));
    p->guests.emplace(number, guest);
    guest->when_gone([p, number] { p->guests.erase(number); });
    guest->start();
  });
  return number;
}

void engine::stop_guest(std::uint64_t guest, std::function<void()> done) {
  parts_->post([p = parts_.get(), guest, done = std::move(done)]() mutable {
    if (auto* g = p->find(guest))
      g->stop(std::move(done));
    else
      done();
  });
}

void engine::run(command_plan plan) {
  parts_->post([p = parts_.get(), plan = std::move(plan)]() mutable {
    if (auto* g = p->find(plan.guest))
      g->run(std::move(plan));
    else
      plan.on_done(make_error(errc::sandbox_gone));
  });
}

void engine::stop_commands(std::uint64_t guest, std::vector<std::uint64_t> numbers, std::chrono::milliseconds grace,
                           std::function<void(std::int32_t)> done) {
  parts_->post([p = parts_.get(), guest, numbers = std::move(numbers), grace, done = std::move(done)]() mutable {
    if (auto* g = p->find(guest))
      g->stop_commands(numbers, grace, std::move(done));
    else
      done(0);
  });
}

void engine::offload(std::function<void()> work) { asio::post(parts_->files, std::move(work)); }

namespace {

/// Whether the process behind /proc/PID carries `mark` in its environment.
bool is_marked(const std::string& pid, const std::string& mark) {
  const unique_fd fd{::open(("/proc/" + pid + "/environ").c_str(), O_RDONLY | O_CLOEXEC)};
  std::string text;
  char piece[8192];
  for (ssize_t n = 0; fd && (n = ::read(fd.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  text.insert(text.begin(), '\0');
  return text.find(std::string(1, '\0') + mark + std::string(1, '\0')) != std::string::npos;
}

} // namespace

int kill_marked(const std::string& instance) {
  const auto mark = std::string{mark_name} + "=" + instance;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  int killed = 0;
  for (bool again = true; again && std::chrono::steady_clock::now() < deadline;) {
    again = false;
    auto* const proc = ::opendir("/proc");
    if (proc == nullptr)
      return killed;
    while (const auto* const entry = ::readdir(proc)) {
      const std::string pid = entry->d_name;
      if (pid.empty() || pid.front() < '0' || pid.front() > '9' || !is_marked(pid, mark))
        continue;
      // Held first, looked at again, signalled last: what is signalled is what was looked at, also if its pid is
      // reused in between.
      const unique_fd held{static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(pid), 0))};
      if (held && is_marked(pid, mark) && ::syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0) == 0) {
        ++killed;
        again = true; // it may have had children meanwhile
      }
    }
    ::closedir(proc);
  }
  return killed;
}

} // namespace berth::local
