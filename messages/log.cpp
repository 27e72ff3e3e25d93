#include "messages/log.hpp"

#include <spdlog/spdlog.h>

namespace berth::log {

namespace {

std::shared_ptr<spdlog::logger> target() {
  auto named = spdlog::get("berth");
  return named ? named : spdlog::default_logger();
}

// A line is data, never a format string: braces in it are text.
void write(spdlog::level::level_enum level, std::string_view text) {
  if (const auto logger = target())
    logger->log(level, spdlog::string_view_t{text.data(), text.size()});
}

} // namespace

void debug(std::string_view text) { write(spdlog::level::debug, text); }
void info(std::string_view text) { write(spdlog::level::info, text); }
void warn(std::string_view text) { write(spdlog::level::warn, text); }
void error(std::string_view text) { write(spdlog::level::err, text); }

bool debug_enabled() {
  const auto logger = target();
  return logger && logger->should_log(spdlog::level::debug);
}

} // namespace berth::log
