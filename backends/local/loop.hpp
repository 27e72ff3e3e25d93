#pragma once
// What the objects of the event loop share. Only engine.cpp, guest_handle.cpp and command.cpp include this: asio stays
// out of everything else.
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace berth::local {

class command;

/// The loop and what is common to all on it. Touched by its thread only.
struct loop_context {
  std::vector<char> buffer = std::vector<char>(std::size_t{64} * 1024);
  std::size_t commands = 0;      ///< that hold pipes
  std::size_t command_limit = 0; ///< more than that wait in line
  std::deque<std::function<void()>> waiting;
  bool pump_posted = false;
  asio::io_context io{1}; ///< last: what it still holds when it goes refers to the rest

  /// A command gave its pipes back: the next in line starts.
  void pump() {
    if (pump_posted || waiting.empty())
      return;
    pump_posted = true;
    asio::post(io, [this] {
      pump_posted = false;
      while (!waiting.empty() && commands < command_limit) {
        auto next = std::move(waiting.front());
        waiting.pop_front();
        next();
      }
    });
  }
};

} // namespace berth::local
