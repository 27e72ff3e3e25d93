#pragma once
// What every folder may say to the log. The words only: where they go, in which form and from which level on is set up
// by runtime/logging.hpp, or by the host that berth is embedded in.
#include <string_view>

namespace berth::log {

/// Writes one line to the logger named "berth". Where no such logger is registered with spdlog, the line goes to
/// spdlog's default logger, so that a host that uses spdlog finds it among its own. Callable from any thread; never
/// throws. Never pass a secret, the contents of a file, or the output of a command.
void debug(std::string_view text);
void info(std::string_view text);
void warn(std::string_view text);
void error(std::string_view text);

/// Whether debug lines are written: ask before composing an expensive one.
[[nodiscard]] bool debug_enabled();

} // namespace berth::log
