// The berth command: reads the command line and the configuration, and hands over to a subcommand.
#include <exception>
#include <memory>

#include "runtime/logging.hpp"
#include "runtime/signals.hpp"
#include "tools/berth/commands.hpp"
#include "tools/berth/options.hpp"
#include "tools/berth/output.hpp"

namespace berth::cli {

namespace {

int failure_status(const options& opts) { return opts.what == command::run || opts.what == command::exec ? 125 : 1; }

caf::expected<config> settings_for(const options& opts) {
  auto settings = default_config();
  const auto file = opts.config_file ? std::optional<std::filesystem::path>{*opts.config_file} : default_config_path();
  if (file) {
    auto loaded = load_config(*file);
    if (!loaded)
      return loaded.error();
    settings = std::move(*loaded);
  }
  if (opts.data_dir)
    settings.sandbox.local.data_dir = *opts.data_dir;
  // A node reports what it does; a command that brings one along for a moment only what goes wrong.
  if (opts.level)
    settings.log.level = *opts.level;
  else if (opts.what != command::node && settings.log.file.empty())
    settings.log.level = log_level::error;
  return settings;
}

int dispatch(const context& c) {
  switch (c.opts.what) {
  case command::node:
    return run_node(c);
  case command::run:
    return run_command(c);
  case command::acquire:
    return acquire(c);
  case command::release:
    return release(c);
  case command::destroy:
    return destroy(c);
  case command::list:
    return list(c);
  case command::status:
    return status(c);
  case command::exec:
    return exec_command(c);
  case command::read:
    return read(c);
  case command::write:
    return write(c);
  case command::ls:
    return ls(c);
  case command::config:
    return show_config(c);
  }
  return 1;
}

int run(int argc, char** argv) {
  // Before any thread: all of them are to inherit the signal mask.
  const auto events = std::make_shared<inbox>();
  ignore_sigpipe();
  auto line = parse(argc, argv);
  if (line.exit_status)
    return *line.exit_status;
  signals watched;
  watched.on_first([&](int number) { events->signal(number); });
  context c{std::move(line.values), {}, events};
  // The reference does not depend on a file, which may be the very one to be repaired with its help.
  if (c.opts.what != command::config) {
    auto settings = settings_for(c.opts);
    if (!settings)
      return fail(c, settings.error(), failure_status(c.opts));
    c.settings = std::move(*settings);
  }
  if (auto e = start_logging(c.settings.log, make_redactor(c.settings)))
    return fail(c, e, failure_status(c.opts));
  const auto status = dispatch(c);
  stop_logging();
  return status;
}

} // namespace

int fail(const context& c, const caf::error& reason, int status) {
  const auto signal = c.events->signalled();
  if (signal != 0 && code_of(reason) == errc::cancelled)
    return 128 + signal;
  print_error(c.opts.json, reason);
  return status;
}

} // namespace berth::cli

int main(int argc, char** argv) {
  berth::cli::reserve_standard_streams();
  try {
    return berth::cli::run(argc, argv);
  } catch (const std::exception& e) {
    berth::cli::print_note(std::string{"cannot go on: "} + e.what());
    return 125;
  }
}
