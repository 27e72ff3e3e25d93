// run and exec: a command in a sandbox, its output as it comes.
#include <array>
#include <utility>

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include "actors/tracer.hpp"
#include "messages/log.hpp"
#include "runtime/random.hpp"
#include "tools/berth/output.hpp"
#include "tools/berth/progress.hpp"
#include "tools/berth/workplace.hpp"

namespace berth::cli {

namespace {

using namespace std::chrono_literals;

constexpr int timed_out_status = 124;
constexpr int own_failure = 125;
constexpr int signal_base = 128;
constexpr std::chrono::milliseconds slack = 30s;
// Without --timeout the node's own default ends the command; this only catches a node that never answers.
constexpr std::chrono::milliseconds longest_command = 31'536'000s;

// Prints what the command prints, each byte once: from the chunks, and from the answer what no chunk brought.
class relay {
public:
  relay(bool silent, std::function<bool()> give_up) : silent_(silent), give_up_(std::move(give_up)) {}

  void take(const output_chunk& chunk) { print(chunk.from, chunk.offset, chunk.data.data); }

  void complete(const executed& x) {
    print(stream::out, 0, x.out.data);
    print(stream::err, 0, x.err.data);
    if (!silent_)
      for (const auto from : {stream::out, stream::err})
        if (const auto total = from == stream::out ? x.out_total : x.err_total;
            total > printed(from) && closed(from) == 0)
          note("std" + to_string(from) + " was cut: " + std::to_string(printed(from)) + " of " + std::to_string(total)
               + " bytes are shown (see --output-cap)");
  }

  // What keeps standard output from being written, as errno; 0 while it can be.
  [[nodiscard]] int broken() const { return closed_[0]; }

  // A line of our own on standard error, not glued to the command's last one.
  void note(std::string_view text) {
    finish_line();
    print_note(text);
  }

  // Ends the line that the command left unfinished on standard error.
  void finish_line() {
    if (std::exchange(mid_line_, false))
      write_all(STDERR_FILENO, "\n", give_up_);
  }

private:
  std::int64_t& printed(stream from) { return printed_[static_cast<std::size_t>(from)]; }
  int& closed(stream from) { return closed_[static_cast<std::size_t>(from)]; }

  void print(stream from, std::int64_t offset, std::string_view data) {
    auto& at = printed(from);
    if (silent_ || closed(from) != 0 || offset + static_cast<std::int64_t>(data.size()) <= at)
      return;
    if (offset < at)
      data.remove_prefix(static_cast<std::size_t>(at - offset));
    at = std::max(at, offset) + static_cast<std::int64_t>(data.size());
    const auto failed = write_all(from == stream::out ? STDOUT_FILENO : STDERR_FILENO, data, give_up_);
    if (failed != 0 && failed != ECANCELED)
      closed(from) = failed;
    if (from == stream::err)
      mid_line_ = closed(from) == 0 && !data.ends_with('\n');
  }

  bool silent_;
  std::function<bool()> give_up_;
  std::array<std::int64_t, 2> printed_{};
  std::array<int, 2> closed_{}; // errno
  bool mid_line_ = false;
};

// What the user sees of a running command: a sign of life until the first output, then the output.
struct execution_view {
  relay out;
  progress shown{"running"};
  execution_view(bool silent, std::function<bool()> give_up) : out(silent, std::move(give_up)) {}
};

int status_of(const exit_status& x) {
  switch (x.kind) {
  case exit_kind::exited:
    return x.code;
  case exit_kind::signaled:
    return signal_base + x.code;
  case exit_kind::timed_out:
    return timed_out_status;
  case exit_kind::cancelled:
    break;
  }
  return own_failure;
}

int print_result(const workplace& place, const context& c, const executed& x, int status) {
  nlohmann::ordered_json document{{"id", c.opts.who.id.value}};
  if (const auto& lease = place.lease())
    document["origin"] = to_string(lease->origin);
  document["status"] = status;
  document["end"] = to_string(x.status.kind);
  document["code"] = x.status.code;
  document["duration_ms"] = x.duration_ms;
  put_bytes(document, "stdout", x.out);
  document["stdout_total"] = x.out_total;
  put_bytes(document, "stderr", x.err);
  document["stderr_total"] = x.err_total;
  return print_json(document, own_failure);
}

// Runs the command in the sandbox. A signal, or a reader of our output that went away, ends it.
int execute_in(workplace& place, const context& c) {
  auto& link = place.link();
  execute request;
  request.command = c.opts.shell_command;
  request.env = c.opts.env;
  if (c.opts.timeout_ms)
    request.timeout_ms = *c.opts.timeout_ms;
  if (c.opts.output_cap)
    request.output_cap = *c.opts.output_cap;
  request.id = {random_hex()};
  const auto stopped = [&] { return c.events->signalled() != 0; };
  // Shared with the chunks that are still on their way when this function is left.
  const auto view = std::make_shared<execution_view>(c.opts.json, stopped);
  auto& out = view->out;
  const auto bound = std::chrono::milliseconds{c.opts.timeout_ms.value_or(longest_command.count())} + slack;
  const auto pending = link.begin<executed>(place.handle(), bound, request, [view](const output_chunk& chunk) {
    view->shown.end();
    view->out.take(chunk);
  });
  const auto enough = [&] { return pending.done() || out.broken() != 0; };
  const auto why = c.events->run_until(enough, bound + slack, true);
  auto rest = bound;
  if (!pending.done()) {
    if (why == waited::signalled)
      log::debug("a signal arrived: ending the command");
    const auto grace = c.settings.sandbox.release_grace;
    link.call<commands_stopped>(place.handle(), grace + slack, stop_commands{request.id, grace.count()},
                                on_signal::keep_waiting);
    rest = grace + slack;
  }
  const auto result = link.finish(pending, rest, on_signal::keep_waiting);
  view->shown.end();
  if (why == waited::signalled)
    return signal_base + c.events->signalled();
  const auto unwritten = [&] {
    out.finish_line();
    return output_failed(out.broken(), own_failure);
  };
  if (out.broken() != 0)
    return unwritten();
  if (!result) {
    out.finish_line();
    return fail(c, with_advice(c, result.error()), own_failure);
  }
  out.complete(*result);
  if (out.broken() != 0)
    return unwritten();
  const auto status = status_of(result->status);
  if (c.opts.json) {
    const auto printed = print_result(place, c, *result, status);
    return printed == 0 ? status : printed;
  }
  if (result->status.kind == exit_kind::timed_out)
    out.note("the command was killed: it ran longer than "
             + (c.opts.timeout_ms ? exact_time(*c.opts.timeout_ms) : std::string{"the configured limit"}));
  else if (result->status.kind == exit_kind::cancelled)
    out.note("the command was ended: its sandbox was released or destroyed meanwhile");
  return status;
}

// What the actors of this process said to each other because of our acquire.
void print_trace(trace_recorder& recorder) {
  const auto events = recorder.ring().take();
  for (const auto trace : find_traces(events, "acquire_sandbox"))
    write_all(STDERR_FILENO, render_trace(events, trace));
}

int work(const context& c, bool acquire_first) {
  std::optional<trace_recorder> recorder;
  if (c.opts.trace)
    recorder.emplace();
  auto place = workplace::enter(c, acquire_first);
  if (!place)
    return fail(c, place.error(), own_failure);
  const auto status = execute_in(*place, c);
  if (const auto e = place->leave())
    print_note("the sandbox could not be released: " + explain(e));
  if (recorder) {
    print_trace(*recorder);
    if (!place->link().embedded())
      print_note("the trace shows this command's side only; with --embedded it shows the node's actors as well");
  }
  return status;
}

} // namespace

int run_command(const context& c) { return work(c, true); }

int exec_command(const context& c) { return work(c, false); }

} // namespace berth::cli
