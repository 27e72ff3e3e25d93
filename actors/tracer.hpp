#pragma once
// A readable log of what the actors of a node said to each other: a bounded memory of message events, and how it is
// printed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/actors.hpp"

namespace berth {

/// Keeps the latest events up to a number, and counts those it had to drop for newer ones. An actor that reports an
/// event holds the lock for one move; a reader for one swap.
class trace_ring final : public trace_sink {
public:
  explicit trace_ring(std::size_t capacity = 16'384);

  void on_event(trace_event event) noexcept override;

  /// Takes out what is there, in the order of queueing.
  [[nodiscard]] std::vector<trace_event> take();

  /// How many events were dropped since the start.
  [[nodiscard]] std::uint64_t dropped() const;

private:
  const std::size_t capacity_;
  mutable std::mutex guard_;
  std::vector<trace_event> events_; // a ring once it is full; `oldest_` is its beginning then
  std::size_t oldest_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Traces this process into a ring of its own as long as it lives. One at a time: a second one takes over, and whichever
/// ends first ends tracing.
class trace_recorder {
public:
  explicit trace_recorder(std::size_t capacity = 16'384);
  ~trace_recorder();
  trace_recorder(const trace_recorder&) = delete;
  trace_recorder& operator=(const trace_recorder&) = delete;

  [[nodiscard]] trace_ring& ring() { return *ring_; }

private:
  std::shared_ptr<trace_ring> ring_;
};

/// The traces in which a message whose text begins with `prefix` was the first one (`"acquire_sandbox"`), in order.
[[nodiscard]] std::vector<std::uint64_t> find_traces(const std::vector<trace_event>& events, std::string_view prefix);

/// One trace as lines of text, in the order of queueing: milliseconds since its first message, sender -> receiver
/// (=> for a response, >> for a request that was handed on), the message, how long it waited in the mailbox and how long
/// it was handled. Indented like calls: what a request causes stands below it, its response as far left as itself. Empty
/// where the trace has no event.
[[nodiscard]] std::string render_trace(const std::vector<trace_event>& events, std::uint64_t trace);

} // namespace berth
