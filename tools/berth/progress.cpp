#include "tools/berth/progress.hpp"

#include <array>
#include <chrono>

#include <unistd.h>

#include "tools/berth/output.hpp"

namespace berth::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto quiet = 1s;
constexpr auto step = 120ms;
constexpr std::string_view erase = "\r\x1b[K";

} // namespace

progress::progress(std::string what) : what_(std::move(what)) {
  if (::isatty(STDERR_FILENO) == 1)
    thread_ = std::jthread{[this](const std::stop_token& stop) { show(stop); }};
}

progress::~progress() { end(); }

void progress::end() {
  if (!thread_.joinable())
    return;
  thread_.request_stop();
  thread_.join();
}

void progress::show(const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock{mutex_};
  const auto stopped = [&](auto bound) {
    return wake_.wait_for(lock, stop, bound, [&] { return stop.stop_requested(); }) || stop.stop_requested();
  };
  if (stopped(quiet))
    return;
  constexpr std::array<std::string_view, 4> wheel{"|", "/", "-", "\\"};
  std::size_t turn = 0;
  do {
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    write_all(STDERR_FILENO, std::string{erase} + std::string{wheel[turn++ % wheel.size()]} + " " + what_ + " ... "
                                 + std::to_string(elapsed.count()) + " s");
  } while (!stopped(step));
  write_all(STDERR_FILENO, erase);
}

} // namespace berth::cli
