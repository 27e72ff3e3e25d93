#pragma once
// The subcommands. Each answers the exit status of the process: 0; 1 for an error; 130 or 143 after a signal. Those of
// run and exec are the command's own, 128 + its signal, 124 after its time-out, and 125 for an error of berth.
#include <memory>

#include "runtime/config.hpp"
#include "tools/berth/inbox.hpp"
#include "tools/berth/options.hpp"

namespace berth::cli {

/// What a subcommand works with.
struct context {
  options opts;
  config settings;
  std::shared_ptr<inbox> events;
};

int run_node(const context& c);
int run_command(const context& c);  ///< run
int exec_command(const context& c); ///< exec
int acquire(const context& c);
int release(const context& c);
int destroy(const context& c);
int list(const context& c);
int status(const context& c);
int read(const context& c);
int write(const context& c);
int ls(const context& c);
int show_config(const context& c);

/// Reports the error, unless a signal explains it, and answers the exit status for it.
int fail(const context& c, const caf::error& reason, int status = 1);

} // namespace berth::cli
