#pragma once
// What the command line says, checked as far as it can be without asking anybody.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/actors.hpp"
#include "runtime/config.hpp"

namespace berth::cli {

/// The subcommands.
enum class command : std::uint8_t { node, run, acquire, release, destroy, list, status, exec, read, write, ls, config };

/// Which sandbox is meant: by its scope, or by an id that an acquire printed.
struct target {
  std::optional<scope> owner;
  sandbox_id id; ///< of the scope, where one was given
  /// As the user wrote it.
  [[nodiscard]] std::string text() const { return owner ? to_text(*owner) : id.value; }
};

/// One command line.
struct options {
  command what = command::status;
  std::optional<std::string> config_file;
  std::optional<std::string> node; ///< HOST:PORT of a node that must be there
  std::optional<std::string> data_dir;
  std::optional<log_level> level;
  bool embedded = false; ///< never look for a node
  bool json = false;

  target who;
  std::string shell_command; ///< run, exec: the words after `--`
  environment env;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> output_cap; ///< bytes per stream
  bool trace = false;
  std::string path;
  std::optional<std::int64_t> first_line;
  std::optional<std::int64_t> last_line;
  bool raw_bytes = false; ///< read: the whole file as it is, not as text
  bool append = false;
  std::optional<std::string> content; ///< write: none = standard input
  std::int32_t depth = 2;
};

/// What came of reading the command line.
struct parsed {
  options values;
  std::optional<int> exit_status; ///< set: all is said already (help, version, usage error)
};

/// Reads the command line. Help and version go to standard output. A usage error is reported as `berth: ...`, or as
/// JSON with `--json`; its status is 2, and 125 for run and exec, whose other statuses belong to the command.
parsed parse(int argc, char** argv);

/// The words after `--` as one shell command: a single word is one already, several are quoted and joined.
std::string join_words(const std::vector<std::string>& words);

/// Reads a time limit in seconds. Errors: invalid_argument, naming the range.
caf::expected<std::int64_t> parse_timeout_ms(const std::string& text);

} // namespace berth::cli
