#pragma once
// Asking many without having many answers outstanding: CAF looks pending responses up in a flat vector, so a thousand
// at once cost each other.
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace berth {

/// Runs `start(item, done)` for every item, at most `window` at a time, and `finished()` after the last `done()`.
/// Everything runs inside the actor that calls; `start` must call `done` exactly once.
template <class Item>
class fan_out : public std::enable_shared_from_this<fan_out<Item>> {
public:
  using starter = std::function<void(const Item&, std::function<void()> done)>;

  /// Starts a run; the object keeps itself alive until `finished` was called.
  static void run(std::vector<Item> items, std::size_t window, starter start, std::function<void()> finished) {
    auto self = std::make_shared<fan_out>();
    self->items_ = {std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())};
    self->window_ = window;
    self->start_ = std::move(start);
    self->finished_ = std::move(finished);
    self->pump();
  }

private:
  void pump() {
    // A `done` that is called at once comes back here: the loop of the outermost call goes on, it does not recurse.
    if (std::exchange(pumping_, true))
      return;
    while (!items_.empty() && running_ < window_) {
      const auto item = std::move(items_.front());
      items_.pop_front();
      ++running_;
      start_(item, [self = this->shared_from_this()] {
        --self->running_;
        self->pump();
      });
    }
    pumping_ = false;
    if (items_.empty() && running_ == 0)
      if (auto finished = std::exchange(finished_, nullptr))
        finished();
  }

  std::deque<Item> items_;
  std::size_t window_ = 1;
  std::size_t running_ = 0;
  bool pumping_ = false;
  starter start_;
  std::function<void()> finished_;
};

} // namespace berth
