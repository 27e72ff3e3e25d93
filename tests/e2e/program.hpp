#pragma once
// Programs as a user starts them: real processes, real pipes, bounded waits.
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::e2e {

using seconds = std::chrono::seconds;
using milliseconds = std::chrono::milliseconds;

/// How a program ended and what it printed.
struct outcome {
  int status = -1; ///< 128 + signal where a signal ended it; -1 = it did not end in time and was killed
  std::string out;
  std::string err;
  milliseconds elapsed{0};
};

/// A program that runs. Killed, with its process group, when this is destroyed.
class program {
public:
  /// Where its standard error goes.
  enum class err_to { pipe, terminal };

  /// Starts it in a process group of its own, with `input` as standard input and `env` added to the environment.
  program(std::vector<std::string> argv, const std::map<std::string, std::string>& env, const std::string& input = {},
          err_to where = err_to::pipe);
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }

  /// Reads until standard output (or error) holds `text`; false when it ended or the time is up first.
  bool prints(const std::string& text, milliseconds bound = seconds{20});
  bool complains(const std::string& text, milliseconds bound = seconds{20});

  void signal(int number) const;
  /// Nobody reads its standard output any more.
  void close_out();

  /// Waits for its end.
  outcome wait(milliseconds bound = seconds{30});

private:
  bool read_until(const std::function<bool()>& enough, milliseconds bound);

  std::chrono::steady_clock::time_point started_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  std::optional<int> status_;
};

/// A temporary directory with a configuration: its own data directory, any free port, the isolation that this machine
/// allows or the variable BERTH_TEST_ISOLATION names. Removed at the end.
class world {
public:
  explicit world(const std::string& more_yaml = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  [[nodiscard]] std::filesystem::path data_dir() const { return dir_ / "data"; }

  /// Runs `berth ARGS...` to its end.
  outcome berth(std::vector<std::string> args, const std::string& input = {}, milliseconds bound = seconds{30}) const;
  /// Runs a shell script to its end; `$0` in it is the program, and redirections are the shell's.
  outcome shell(const std::string& script, milliseconds bound = seconds{30}) const;
  /// Starts `berth ARGS...`.
  [[nodiscard]] std::unique_ptr<program> start(std::vector<std::string> args, const std::string& input = {},
                                               program::err_to where = program::err_to::pipe) const;
  /// Starts a node and waits until it is ready; later `berth` commands reach it through --node.
  std::unique_ptr<program> start_node();
  /// HOST:PORT of the node that start_node started.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Writes a file below the directory.
  std::filesystem::path file(const std::string& name, const std::string& text) const;

  /// Processes of this world that still run: its directory or `mark` is in their command line or environment.
  [[nodiscard]] std::vector<std::string> processes(const std::string& mark = {}) const;
  /// Waits until there are none.
  [[nodiscard]] bool nothing_left(const std::string& mark = {}, milliseconds bound = seconds{10}) const;

  /// Variables of every program started here.
  std::map<std::string, std::string> env;

private:
  std::filesystem::path dir_;
  std::string address_;
};

/// Looks at a condition again and again, at most `bound`.
bool eventually(const std::function<bool()>& condition, milliseconds bound = seconds{10});

/// A command that runs for an hour and can be told from every other one: `sleep` and an odd number of seconds.
std::string long_sleep();

} // namespace berth::e2e
