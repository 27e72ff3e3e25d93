#pragma once
// Where the lines of messages/log.hpp go: text or JSON, to standard error or a file, without secrets.
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/actors.hpp"
#include "runtime/config.hpp"

namespace berth {

/// Knows secrets and takes them out of texts. Callable from any thread.
class redactor {
public:
  /// Shorter values are not taken out: they would hit innocent text everywhere.
  static constexpr std::size_t shortest = 8;

  /// From now on `secret` reads `[redacted]`. Values shorter than `shortest` are ignored.
  void add(std::string_view secret);

  /// `text` with every known secret replaced, the longest first, so that one that contains another goes as a whole.
  [[nodiscard]] std::string apply(std::string_view text) const;

private:
  mutable std::shared_mutex mutex_;
  std::vector<std::string> secrets_; // longest first
};

/// A redactor for the values of `sandbox.environment` and for what the environment policy keeps from commands.
std::shared_ptr<redactor> make_redactor(const config& settings);

/// Makes the logger "berth" as `settings` say, replacing a former one. Errors: config_invalid when the file cannot be
/// opened (path and reason).
caf::error start_logging(const log_settings& settings, std::shared_ptr<const redactor> secrets);

/// Flushes and removes the logger "berth"; lines after that go to spdlog's default logger.
void stop_logging();

/// For programs that own their actor system: what CAF itself would print on standard output (messages that nobody
/// handled, actors that died of an exception) goes to standard error where `level` is debug or trace, else nowhere.
/// Standard output belongs to answers.
void divert_caf_output(caf::actor_system& system, log_level level);

} // namespace berth
