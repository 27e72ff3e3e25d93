#include "runtime/logging.hpp"

#include <algorithm>
#include <mutex>

#include <nlohmann/json.hpp>
#include <spdlog/formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "runtime/env_policy.hpp"

namespace berth {

namespace {

constexpr auto logger_name = "berth";

std::string_view name_of(spdlog::level::level_enum level) {
  switch (level) {
  case spdlog::level::trace:
    return "trace";
  case spdlog::level::debug:
    return "debug";
  case spdlog::level::info:
    return "info";
  case spdlog::level::warn:
    return "warning";
  default:
    return "error";
  }
}

// RFC 3339 in UTC, to the millisecond.
std::string timestamp(spdlog::log_clock::time_point at) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ms % 1000);
}

// One event is one line: what came from outside must not be able to forge another.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c == '\n')
      result += "\\n";
    else if (c == '\t' || static_cast<unsigned char>(c) >= 0x20)
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return result;
}

// The redaction sits in the formatter, the one place that every line passes on its way out.
class line_formatter final : public spdlog::formatter {
public:
  line_formatter(log_format format, std::shared_ptr<const redactor> secrets)
      : format_(format), secrets_(std::move(secrets)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view payload{message.payload.data(), message.payload.size()};
    const auto text = secrets_ ? secrets_->apply(payload) : std::string{payload};
    std::string line;
    if (format_ == log_format::json) {
      nlohmann::ordered_json event;
      event["time"] = timestamp(message.time);
      event["level"] = name_of(message.level);
      event["message"] = text;
      line = event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    } else {
      line = fmt::format("{} {:<7} {}", timestamp(message.time), name_of(message.level), on_one_line(text));
    }
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }

  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<line_formatter>(format_, secrets_);
  }

private:
  log_format format_;
  std::shared_ptr<const redactor> secrets_;
};

spdlog::level::level_enum level_of(log_level x) {
  switch (x) {
  case log_level::trace:
    return spdlog::level::trace;
  case log_level::debug:
    return spdlog::level::debug;
  case log_level::info:
    return spdlog::level::info;
  case log_level::warning:
    return spdlog::level::warn;
  case log_level::error:
    return spdlog::level::err;
  case log_level::off:
    return spdlog::level::off;
  }
  return spdlog::level::info;
}

} // namespace

void redactor::add(std::string_view secret) {
  if (secret.size() < shortest)
    return;
  const std::unique_lock lock{mutex_};
  if (std::find(secrets_.begin(), secrets_.end(), secret) != secrets_.end())
    return;
  const auto place =
      std::find_if(secrets_.begin(), secrets_.end(), [&](const auto& known) { return known.size() < secret.size(); });
  secrets_.emplace(place, secret);
}

std::string redactor::apply(std::string_view text) const {
  constexpr std::string_view mark = "[redacted]";
  std::string result{text};
  const std::shared_lock lock{mutex_};
  for (const auto& secret : secrets_)
    for (auto at = result.find(secret); at != std::string::npos; at = result.find(secret, at + mark.size()))
      result.replace(at, secret.size(), mark);
  return result;
}

std::shared_ptr<redactor> make_redactor(const config& settings) {
  auto result = std::make_shared<redactor>();
  for (const auto& [name, value] : settings.sandbox.environment)
    result->add(value);
  for (const auto& [name, value] : process_environment())
    // Blocked names also hit paths (COMPASS_HOME, GIT_ASKPASS), which a log needs and which are no secrets.
    if (is_blocked_variable(name) && !value.starts_with('/'))
      result->add(value);
  return result;
}

caf::error start_logging(const log_settings& settings, std::shared_ptr<const redactor> secrets) {
  spdlog::sink_ptr sink;
  try {
    if (settings.file.empty())
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    else
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(settings.file);
  } catch (const spdlog::spdlog_ex& e) {
    return make_error(errc::config_invalid, std::string{"log.file: "} + e.what());
  }
  auto logger = std::make_shared<spdlog::logger>(logger_name, std::move(sink));
  logger->set_formatter(std::make_unique<line_formatter>(settings.format, std::move(secrets)));
  logger->set_level(level_of(settings.level));
  // A node that dies must not take its last words with it.
  logger->flush_on(spdlog::level::trace);
  spdlog::drop(logger_name);
  spdlog::register_logger(std::move(logger));
  return {};
}

void stop_logging() {
  if (const auto logger = spdlog::get(logger_name))
    logger->flush();
  spdlog::drop(logger_name);
}

void divert_caf_output(caf::actor_system& system, log_level level) {
  const auto wanted = level == log_level::trace || level == log_level::debug;
  caf::actor_ostream::redirect_all(system, wanted ? "/dev/stderr" : "/dev/null", caf::actor_ostream::append);
}

} // namespace berth
