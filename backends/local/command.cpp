#include "backends/local/command.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>

#include "messages/errors.hpp"

namespace berth::local {

namespace {

/// How long output is awaited after the command's own process ended (spec X35, X36: one grace for both streams).
constexpr std::chrono::milliseconds output_grace{200};
/// Reads in a row from one pipe, so that one loud command does not starve the others.
constexpr int reads_in_a_row = 8;

} // namespace

command::command(loop_context& loop, command_plan plan)
    : loop_(loop), plan_(std::move(plan)), out_(loop.io), err_(loop.io), timer_(loop.io),
      started_(std::chrono::steady_clock::now()) {
  if (plan_.translation) {
    out_.translator.emplace(plan_.translation);
    err_.translator.emplace(plan_.translation);
  }
}

command::~command() {
  if (holds_pipes_) {
    --loop_.commands;
    loop_.pump();
  }
}

void command::start_clock(std::function<void()> on_timeout, std::function<bool()> on_silence) {
  timer_.expires_after(plan_.timeout);
  timer_.async_wait([weak = weak_from_this(), kill_group = std::move(on_timeout),
                     silence = std::move(on_silence)](std::error_code ec) {
    const auto self = weak.lock();
    if (ec || !self || self->status_ || self->answered_)
      return;
    self->timed_out_ = true;
    if (!self->holds_pipes_) // still in line
      return self->fail(make_error(errc::capacity_exceeded,
                                   "the command was not started within its time limit: this process may not open more "
                                   "files for those that run (see ulimit -n)"));
    kill_group();
    self->await_death(silence);
  });
}

void command::await_death(std::function<bool()> on_silence) {
  timer_.expires_after(kill_limit);
  timer_.async_wait([weak = weak_from_this(), silence = std::move(on_silence)](std::error_code ec) {
    const auto self = weak.lock();
    if (ec || !self || self->status_ || self->answered_)
      return;
    if (std::chrono::steady_clock::now() > self->started_ + self->plan_.timeout + reap_limit)
      return self->on_ended({exit_kind::signaled, SIGKILL}); // it hangs in the kernel, its supervisor is well
    if (silence())
      self->await_death(silence);
  });
}

caf::expected<std::pair<unique_fd, unique_fd>> command::make_pipes() {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0)
    return make_error(errc::backend_failure, std::string{"cannot make a pipe: "} + std::strerror(errno));
  unique_fd out_read{out[0]};
  unique_fd out_write{out[1]};
  if (::pipe2(err, O_CLOEXEC) != 0)
    return make_error(errc::backend_failure, std::string{"cannot make a pipe: "} + std::strerror(errno));
  unique_fd err_read{err[0]};
  unique_fd err_write{err[1]};
  // Our ends only: the command's own must block as any pipe does.
  ::fcntl(out_read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err_read.get(), F_SETFL, O_NONBLOCK);
  std::error_code ec;
  out_.pipe.assign(out_read.get(), ec);
  if (!ec) {
    [[maybe_unused]] const auto owned = out_read.release();
    err_.pipe.assign(err_read.get(), ec);
  }
  if (ec)
    return make_error(errc::backend_failure, "cannot watch a pipe: " + ec.message());
  [[maybe_unused]] const auto owned = err_read.release();
  holds_pipes_ = true;
  ++loop_.commands;
  await_input(stream::out);
  await_input(stream::err);
  return std::pair{std::move(out_write), std::move(err_write)};
}

void command::await_input(stream s) {
  at(s).pipe.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this(), s](std::error_code ec) {
    if (ec)
      self->end_stream(s);
    else if (self->at(s).pipe.is_open())
      self->drain(s);
  });
}

void command::drain(stream s) {
  auto& channel = at(s);
  for (int i = 0; i < reads_in_a_row; ++i) {
    const auto n = ::read(channel.pipe.native_handle(), loop_.buffer.data(), loop_.buffer.size());
    if (n > 0) {
      keep(s, {loop_.buffer.data(), static_cast<std::size_t>(n)});
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    return end_stream(s);
  }
  await_input(s);
}

void command::keep(stream s, std::string_view data) {
  if (answered_)
    return; // drained and dropped
  auto& channel = at(s);
  const auto room = plan_.cap - static_cast<std::int64_t>(channel.kept.size());
  std::string translated;
  if (channel.translator && room > 0)
    data = translated = channel.translator->feed(data);
  channel.total += static_cast<std::int64_t>(data.size());
  if (room <= 0 || data.empty())
    return;
  const auto part = data.substr(0, static_cast<std::size_t>(room));
  if (plan_.on_output)
    plan_.on_output(s, static_cast<std::int64_t>(channel.kept.size()), std::string{part});
  channel.kept.append(part);
}

void command::end_stream(stream s) {
  auto& pipe = at(s).pipe;
  if (!pipe.is_open())
    return;
  std::error_code ignored;
  pipe.close(ignored);
  if (status_ && !out_.pipe.is_open() && !err_.pipe.is_open())
    finish();
}

void command::on_ended(exit_status status) {
  if (status_ || answered_)
    return;
  status_ = status;
  timer_.cancel();
  const auto self = shared_from_this(); // the answer may drop the last other reference
  // Nearly always all is in the pipes by now: look before waiting for the loop to say so.
  for (const auto s : {stream::out, stream::err})
    if (at(s).pipe.is_open())
      for (;;) {
        const auto n = ::read(at(s).pipe.native_handle(), loop_.buffer.data(), loop_.buffer.size());
        if (n == 0) {
          end_stream(s);
          break;
        }
        if (n < 0)
          break;
        keep(s, {loop_.buffer.data(), static_cast<std::size_t>(n)});
        if (at(s).total > plan_.cap)
          break; // a loud background child: no use in racing it
      }
  if (!out_.pipe.is_open() && !err_.pipe.is_open())
    return finish();
  timer_.expires_after(output_grace);
  timer_.async_wait([self](std::error_code ec) {
    if (!ec)
      self->finish();
  });
}

void command::finish() {
  if (answered_)
    return;
  executed x;
  for (const auto s : {stream::out, stream::err})
    if (auto& channel = at(s); channel.translator) {
      const auto rest = channel.translator->finish();
      channel.translator.reset();
      keep(s, rest);
    }
  x.status = status_.value_or(exit_status{exit_kind::signaled, SIGKILL});
  if (cancelled_)
    x.status.kind = exit_kind::cancelled;
  else if (timed_out_ && x.status.kind == exit_kind::signaled)
    x.status.kind = exit_kind::timed_out;
  x.out.data = std::move(out_.kept);
  x.err.data = std::move(err_.kept);
  x.out_total = out_.total;
  x.err_total = err_.total;
  x.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_).count();
  answer(std::move(x));
}

void command::fail(caf::error reason) {
  const auto self = shared_from_this();
  answer(std::move(reason));
}

void command::answer(caf::expected<executed> x) {
  if (answered_)
    return;
  answered_ = true;
  timer_.cancel();
  plan_.on_done(std::move(x));
  for (auto& f : std::exchange(when_done_, {}))
    f();
  // They may hold actors; a background child may keep this object for a long time.
  plan_.on_done = nullptr;
  plan_.on_output = nullptr;
}

} // namespace berth::local
