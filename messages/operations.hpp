#pragma once
// What can be done in a sandbox: commands and files (spec: contract.md). Paths are the sandbox's own, absolute.
#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.hpp"
#include "messages/values.hpp"

namespace berth {

/// The two output streams of a command.
enum class stream : std::uint8_t { out, err };
std::string to_string(stream x);

/// How a command ended.
enum class exit_kind : std::uint8_t {
  exited,    ///< by itself; the code is its status
  signaled,  ///< by a signal nobody of berth sent; the code is the signal
  timed_out, ///< its limit passed and the whole group was killed
  cancelled  ///< ended by release, cancel or shutdown
};
std::string to_string(exit_kind x);

/// Exit kind and its number (status or signal).
struct exit_status {
  exit_kind kind = exit_kind::exited;
  std::int32_t code = 0;
  friend bool operator==(const exit_status&, const exit_status&) = default;
};
BERTH_MESSAGE(exit_status, kind, code)

/// Bytes captured per stream unless asked otherwise: 10 MiB (contract C0.11).
inline constexpr std::int64_t default_output_cap = 10 * 1024 * 1024;
/// The largest file a download or a read carries: 100 MiB (contract C0.4).
inline constexpr std::int64_t file_cap = 100 * 1024 * 1024;

/// Runs a shell command to its end. Several at once on one sandbox run in parallel.
struct execute {
  std::string command;
  environment env;                   ///< for this command only; names match ^[A-Za-z_][A-Za-z0-9_]*$
  optional<std::int64_t> timeout_ms; ///< wall clock, 1..; none = the configured default
  optional<std::int64_t> output_cap; ///< bytes kept per stream; none = default_output_cap
  caf::actor subscriber;             ///< gets every output_chunk as it comes; may be null
  exec_id id;                        ///< chosen by the caller, or empty: chosen by the sandbox
};
BERTH_MESSAGE(execute, command, env, timeout_ms, output_cap, subscriber, id)

/// A piece of output, sent to the subscriber in the order of each stream, before the executed answer.
struct output_chunk {
  exec_id id;
  stream from = stream::out;
  std::int64_t offset = 0; ///< bytes of this stream before this piece
  bytes data;
};
BERTH_MESSAGE(output_chunk, id, from, offset, data)

/// A command that ended, with what it printed. Totals count what was read, also beyond the cap.
struct executed {
  exec_id id;
  exit_status status;
  bytes out;
  bytes err;
  std::int64_t out_total = 0;
  std::int64_t err_total = 0;
  std::int64_t duration_ms = 0;
};
BERTH_MESSAGE(executed, id, status, out, err, out_total, err_total, duration_ms)

/// Reads a text file, whole or lines start_line..end_line (from 1, inclusive; spec R1-R5).
struct read_file {
  std::string path;
  optional<std::int64_t> start_line;
  optional<std::int64_t> end_line;
};
BERTH_MESSAGE(read_file, path, start_line, end_line)

/// The answer to read_file and download_file.
struct file_content {
  bytes data;
};
BERTH_MESSAGE(file_content, data)

/// Writes text, making missing parents; replaces or appends (spec W1-W5).
struct write_file {
  std::string path;
  bytes content;
  bool append = false;
};
BERTH_MESSAGE(write_file, path, content, append)

/// Writes bytes as they are (spec W6).
struct update_file {
  std::string path;
  bytes content;
};
BERTH_MESSAGE(update_file, path, content)

/// The answer to write_file and update_file: the size of the file afterwards.
struct file_written {
  std::int64_t size = 0;
};
BERTH_MESSAGE(file_written, size)

/// Reads a file below /mnt/user-data as bytes, up to file_cap (spec D1-D10).
struct download_file {
  std::string path;
};
BERTH_MESSAGE(download_file, path)

/// Lists a directory down to `max_depth` levels (spec L1-L8).
struct list_dir {
  std::string path;
  std::int32_t max_depth = 2;
};
BERTH_MESSAGE(list_dir, path, max_depth)

/// The answer to list_dir: absolute paths, directories with a trailing slash, sorted.
struct dir_listing {
  std::vector<std::string> entries;
};
BERTH_MESSAGE(dir_listing, entries)

/// Finds paths below a root by a pattern (spec section 5).
struct glob_files {
  std::string path;
  std::string pattern;
  bool include_dirs = false;
  std::int32_t max_results = 200;
};
BERTH_MESSAGE(glob_files, path, pattern, include_dirs, max_results)

/// The answer to glob_files.
struct glob_answer {
  std::vector<std::string> paths;
  bool truncated = false;
};
BERTH_MESSAGE(glob_answer, paths, truncated)

/// Searches lines of one file or of a tree (spec section 6).
struct grep_files {
  std::string path;
  std::string pattern;
  std::string glob; ///< empty = every file
  bool literal = false;
  bool case_sensitive = false;
  std::int32_t max_results = 100;
};
BERTH_MESSAGE(grep_files, path, pattern, glob, literal, case_sensitive, max_results)

/// One matching line, numbered from 1, shortened to 200 characters.
struct grep_match {
  std::string path;
  std::int64_t line_number = 0;
  std::string line;
};
BERTH_MESSAGE(grep_match, path, line_number, line)

/// The answer to grep_files.
struct grep_answer {
  std::vector<grep_match> matches;
  bool truncated = false;
};
BERTH_MESSAGE(grep_answer, matches, truncated)

/// Ends running commands: asks them (SIGTERM), waits `grace_ms`, then kills their groups. Background processes of
/// commands that have ended live on. An empty id means all commands.
struct stop_commands {
  exec_id id;
  std::int64_t grace_ms = 0;
};
BERTH_MESSAGE(stop_commands, id, grace_ms)

/// The answer to stop_commands: how many were told.
struct commands_stopped {
  std::int32_t count = 0;
};
BERTH_MESSAGE(commands_stopped, count)

/// Asks which commands run.
struct list_commands {};
BERTH_EMPTY_MESSAGE(list_commands)

/// One running command.
struct command_info {
  exec_id id;
  std::string command; ///< its first 200 characters
  std::int64_t running_ms = 0;
};
BERTH_MESSAGE(command_info, id, command, running_ms)

/// The answer to list_commands.
struct command_list {
  std::vector<command_info> commands;
};
BERTH_MESSAGE(command_list, commands)

} // namespace berth
