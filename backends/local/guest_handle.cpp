#include "backends/local/guest_handle.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "messages/errors.hpp"

namespace berth::local {

namespace {

constexpr std::size_t complaint_limit = 2000;

caf::error system_error(const char* what, int code) {
  return make_error(code == ENOENT ? errc::command_not_found : errc::backend_failure,
                    std::string{what} + ": " + std::strerror(code));
}

std::vector<char*> pointers(std::vector<std::string>& x) {
  std::vector<char*> out;
  out.reserve(x.size() + 1);
  for (auto& s : x)
    out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

} // namespace

guest_handle::guest_handle(loop_context& loop, guest_plan plan)
    : loop_(loop), plan_(std::move(plan)), socket_(loop.io), process_(loop.io), stderr_(loop.io), timer_(loop.io),
      retry_(loop.io) {}

void guest_handle::start() {
  if (auto e = spawn()) {
    gone_ = true;
    ready(std::move(e));
    for (auto& f : std::exchange(stopped_, {}))
      f();
    return;
  }
  await_notice();
  await_end();
  await_stderr();
  timer_.expires_after(engine::ready_limit);
  timer_.async_wait([self = shared_from_this()](std::error_code ec) {
    if (ec || self->up_)
      return;
    self->ready(make_error(errc::timed_out, "the sandbox's supervisor did not become ready within 10 seconds"));
    self->stop([] {});
  });
}

caf::error guest_handle::spawn() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return system_error("cannot make a socket pair", errno);
  unique_fd ours{pair[0]};
  // Out of the way of 0..3, which the child rearranges.
  unique_fd theirs{::fcntl(pair[1], F_DUPFD_CLOEXEC, 10)};
  ::close(pair[1]);
  int err[2];
  if (::pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0)
    return system_error("cannot make a pipe", errno);
  unique_fd err_read{err[0]};
  unique_fd err_write{::fcntl(err[1], F_DUPFD_CLOEXEC, 10)};
  ::close(err[1]);
  if (!theirs || !err_write)
    return system_error("cannot start the sandbox's supervisor", errno);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  std::error_code ec;
  socket_.assign(ours.get(), ec);
  if (ec)
    return system_error("cannot watch the sandbox's supervisor", ec.value());
  [[maybe_unused]] auto owned = ours.release();
  stderr_.assign(err_read.get(), ec);
  if (ec)
    return system_error("cannot watch the sandbox's supervisor", ec.value());
  owned = err_read.release();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, err_write.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), guest::socket_fd);
  // A host process may hold descriptors without close-on-exec: none of them belongs into a sandbox.
  posix_spawn_file_actions_addclosefrom_np(&actions, guest::socket_fd + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const auto argv = pointers(plan_.argv);
  const auto env = pointers(plan_.env);
  const auto code = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return system_error("cannot start the sandbox's supervisor", code);

  unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (process)
    process_.assign(process.get(), ec);
  if (!process || ec) {
    ::kill(pid, SIGKILL); // our unreaped child: the pid is its own
    ::waitpid(pid, nullptr, 0);
    return system_error("cannot watch the sandbox's supervisor", ec ? ec.value() : errno);
  }
  owned = process.release();
  return {};
}

void guest_handle::ready(caf::error reason) {
  if (auto f = std::exchange(plan_.on_ready, nullptr))
    f(std::move(reason));
}

void guest_handle::await_notice() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code ec) {
    if (ec || !self->socket_.is_open())
      return;
    guest::notice x{};
    for (;;) {
      const auto n = ::recv(self->socket_.native_handle(), &x, sizeof x, MSG_DONTWAIT);
      if (n == static_cast<ssize_t>(sizeof x)) {
        self->on_notice(x);
        if (!self->socket_.is_open())
          return;
        continue;
      }
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return self->await_notice();
      return self->kill_process(); // it closed its end: it died, or is about to
    }
  });
}

void guest_handle::on_notice(const guest::notice& x) {
  heard_ = std::chrono::steady_clock::now();
  if (x.kind == guest::notice_kind::hello) {
    up_ = true;
    timer_.cancel();
    return ready({});
  }
  const auto i = commands_.find(x.exec);
  if (i == commands_.end())
    return;
  const auto c = i->second;
  if (x.kind == guest::notice_kind::failed) {
    c->fail(make_error(x.value == ENOENT || x.value == EACCES ? errc::command_not_found : errc::backend_failure,
                       "the command could not be started: " + std::string{std::strerror(x.value)}
                           + (x.value == E2BIG ? " (command and environment together, or one of them)" : "")));
  } else {
    c->on_ended({x.kind == guest::notice_kind::exited ? exit_kind::exited : exit_kind::signaled, x.value});
  }
}

void guest_handle::await_end() {
  process_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code ec) {
    if (!ec)
      self->on_end();
  });
}

void guest_handle::on_end() {
  const auto self = shared_from_this();
  siginfo_t info{};
  // A host that reaps every child of its own accord leaves nothing to wait for; the end is the same.
  ::waitid(P_PIDFD, static_cast<id_t>(process_.native_handle()), &info, WEXITED | WNOHANG);
  gone_ = true;
  std::error_code ignored;
  process_.close(ignored);
  if (socket_.is_open()) {
    guest::notice x{};
    while (::recv(socket_.native_handle(), &x, sizeof x, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof x))
      on_notice(x);
    socket_.close(ignored);
  }
  timer_.cancel();
  retry_.cancel();
  outbox_.clear();
  // Without a namespace around it, a supervisor that was killed leaves its processes to the system.
  if (!plan_.namespaced && !(info.si_code == CLD_EXITED && info.si_status == 0))
    kill_marked(plan_.instance);
  const auto was_up = std::exchange(up_, false);
  if (stderr_.is_open()) {
    const auto n = ::read(stderr_.native_handle(), loop_.buffer.data(), complaint_limit);
    if (n > 0)
      complaint_.append(loop_.buffer.data(), static_cast<std::size_t>(n));
    stderr_.close(ignored);
  }
  while (complaint_.ends_with('\n'))
    complaint_.pop_back();
  ready(make_error(errc::backend_failure,
                   "the sandbox's supervisor ended at once" + (complaint_.empty() ? "" : ": " + complaint_)));
  // Before the commands' answers: who gets one and asks again must find it dead.
  if (auto f = std::exchange(plan_.on_gone, nullptr); f && was_up)
    f();
  const auto why = given_up_ ? "its supervisor did not answer, and was ended with all that ran in it"
                             : "it ended while the command ran";
  for (const auto& [number, c] : std::exchange(commands_, {}))
    c->fail(make_error(errc::sandbox_gone, why));
  for (auto& f : std::exchange(stopped_, {}))
    f();
}

void guest_handle::await_stderr() {
  stderr_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code ec) {
    if (ec || !self->stderr_.is_open())
      return;
    const auto n = ::read(self->stderr_.native_handle(), self->loop_.buffer.data(), self->loop_.buffer.size());
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
      std::error_code ignored;
      self->stderr_.close(ignored);
      return;
    }
    if (n > 0 && self->complaint_.size() < complaint_limit)
      self->complaint_.append(self->loop_.buffer.data(),
                              std::min(static_cast<std::size_t>(n), complaint_limit - self->complaint_.size()));
    self->await_stderr();
  });
}

void guest_handle::stop(std::function<void()> done) {
  if (gone_)
    return done();
  stopped_.push_back(std::move(done));
  if (std::exchange(stopping_, true))
    return;
  std::error_code ignored;
  socket_.close(ignored);
  timer_.expires_after(engine::stop_limit);
  timer_.async_wait([self = shared_from_this()](std::error_code ec) {
    if (!ec)
      self->kill_process();
  });
}

void guest_handle::kill_process() {
  std::error_code ignored;
  socket_.close(ignored);
  if (!gone_ && process_.is_open())
    ::syscall(SYS_pidfd_send_signal, process_.native_handle(), SIGKILL, nullptr, 0);
}

// A notice that waits to be read counts: on a loaded machine this thread may be the late one.
bool guest_handle::is_heard() {
  guest::notice x{};
  return std::chrono::steady_clock::now() < heard_ + kill_limit
         || (socket_.is_open()
             && ::recv(socket_.native_handle(), &x, sizeof x, MSG_DONTWAIT | MSG_PEEK)
                    == static_cast<ssize_t>(sizeof x));
}

// A supervisor that is stopped or hangs is not a sandbox any more: its end, which follows, fails what runs in it.
void guest_handle::give_up() {
  given_up_ = true;
  kill_process();
}

void guest_handle::run(command_plan plan) {
  auto c = std::make_shared<command>(loop_, std::move(plan));
  if (gone_ || stopping_)
    return c->fail(make_error(errc::sandbox_gone));
  const auto number = c->plan().number;
  commands_.emplace(number, c);
  c->when_done([weak = weak_from_this(), number] {
    if (const auto self = weak.lock())
      self->commands_.erase(number);
  });
  c->start_clock(
      [weak = weak_from_this(), number] {
        if (const auto self = weak.lock())
          self->signal(number, SIGKILL);
      },
      [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->is_heard())
          return true;
        if (self)
          self->give_up();
        return false;
      });
  if (loop_.commands < loop_.command_limit && loop_.waiting.empty())
    return launch(c);
  loop_.waiting.emplace_back([weak = weak_from_this(), c] {
    const auto self = weak.lock();
    if (c->answered())
      return;
    if (!self || self->gone_)
      return c->fail(make_error(errc::sandbox_gone));
    self->launch(c);
  });
}

void guest_handle::launch(const std::shared_ptr<command>& c) {
  auto pipes = c->make_pipes();
  if (!pipes)
    return c->fail(pipes.error());
  const auto& plan = c->plan();
  outgoing x;
  x.head.kind = guest::request_kind::spawn;
  x.head.exec = plan.number;
  x.head.argc = static_cast<std::uint32_t>(plan.argv.size());
  x.head.envc = static_cast<std::uint32_t>(plan.env.size());
  x.payload.append(plan.cwd).append(1, '\0');
  for (const auto* list : {&plan.argv, &plan.env})
    for (const auto& s : *list)
      x.payload.append(s).append(1, '\0');
  x.head.payload_size = x.payload.size();
  x.fds[0] = std::move(pipes->first);
  x.fds[1] = std::move(pipes->second);
  if (x.payload.size() > guest::inline_limit) {
    x.head.in_memfd = 1;
    x.fds[2].reset(::memfd_create("berth-command", MFD_CLOEXEC));
    std::string_view rest = x.payload;
    while (x.fds[2] && !rest.empty()) {
      const auto n = ::write(x.fds[2].get(), rest.data(), rest.size());
      if (n <= 0)
        break;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (!x.fds[2] || !rest.empty())
      return c->fail(system_error("cannot pass the command on", errno));
    x.payload.clear();
  }
  send(std::move(x));
}

void guest_handle::signal(std::uint64_t number, int sig) {
  outgoing x;
  x.head.kind = guest::request_kind::signal;
  x.head.signal = sig;
  x.head.exec = number;
  send(std::move(x));
}

bool guest_handle::send_now(const outgoing& x, int& code) {
  auto head = x.head;
  auto payload = x.payload;
  iovec parts[2] = {{&head, sizeof head}, {payload.data(), payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = payload.empty() ? 1 : 2;
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
  int fds[3];
  std::size_t count = 0;
  for (const auto& fd : x.fds)
    if (fd)
      fds[count++] = fd.get();
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    auto* const c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(c), fds, count * sizeof(int));
  }
  const auto n = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  code = n < 0 ? errno : 0;
  return n >= 0;
}

void guest_handle::send(outgoing x) {
  if (!socket_.is_open())
    return; // its end is on the way, and fails every command
  int code = 0;
  if (outbox_.empty() && send_now(x, code))
    return;
  outbox_.push_back(std::move(x));
  if (outbox_.size() == 1)
    flush();
}

void guest_handle::flush() {
  while (!outbox_.empty() && socket_.is_open()) {
    int code = 0;
    if (send_now(outbox_.front(), code)) {
      outbox_.pop_front();
      continue;
    }
    const auto again = [self = shared_from_this()](std::error_code ec) {
      if (!ec)
        self->flush();
    };
    if (code == EAGAIN)
      return socket_.async_wait(asio::posix::stream_descriptor::wait_write, again);
    if (code == ETOOMANYREFS || code == ENOBUFS || code == EINTR || code == ENOMEM) {
      // Too many descriptors under way at once: the supervisor is taking them out.
      retry_.expires_after(std::chrono::milliseconds(1));
      return retry_.async_wait(again);
    }
    return kill_process(); // EPIPE and the like: it is dying
  }
}

void guest_handle::stop_commands(const std::vector<std::uint64_t>& numbers, std::chrono::milliseconds grace,
                                 std::function<void(std::int32_t)> done) {
  struct operation {
    std::int32_t count = 0;
    std::size_t open = 0;
    std::function<void(std::int32_t)> done;
    asio::steady_timer timer;
    operation(asio::io_context& io, std::function<void(std::int32_t)> f) : done(std::move(f)), timer(io) {}
  };
  auto op = std::make_shared<operation>(loop_.io, std::move(done));
  std::vector<std::shared_ptr<command>> told;
  for (const auto number : numbers)
    if (const auto i = commands_.find(number); i != commands_.end())
      told.push_back(i->second);
  op->open = told.size();
  op->count = static_cast<std::int32_t>(told.size());
  if (told.empty())
    return op->done(0);
  for (const auto& c : told) {
    c->mark_cancelled();
    c->when_done([op] {
      if (--op->open == 0) {
        op->timer.cancel();
        op->done(op->count);
      }
    });
    signal(c->plan().number, SIGTERM);
  }
  for (const auto& c : told)
    c->end_if_waiting();
  op->timer.expires_after(grace);
  op->timer.async_wait([self = shared_from_this(), op, told](std::error_code ec) {
    if (ec)
      return;
    for (const auto& c : told)
      self->signal(c->plan().number, SIGKILL);
    op->timer.expires_after(reap_limit);
    op->timer.async_wait([told](std::error_code late) {
      if (!late)
        for (const auto& c : told)
          c->on_ended({exit_kind::cancelled, SIGKILL});
    });
  });
}

} // namespace berth::local
