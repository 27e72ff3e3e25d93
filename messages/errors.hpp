#pragma once
// Error codes: one enumeration for everything that can go wrong between actors, each with a text for people.
#include <cstdint>
#include <string>
#include <string_view>

#include <caf/atom.hpp>
#include <caf/error.hpp>

namespace berth {

/// What went wrong. Sent as `caf::error` of berth's own category; the context string says where and with what value.
enum class errc : std::uint8_t {
  none = 0,
  invalid_argument,   ///< a value in the request is out of range or malformed
  invalid_scope,      ///< user or thread cannot name a sandbox
  sandbox_unknown,    ///< no sandbox of that id is tracked by this node
  sandbox_not_active, ///< the sandbox is parked, opening or closing: acquire it first
  sandbox_gone,       ///< the running sandbox died under the operation; the next acquire makes a new one
  being_destroyed,    ///< a peer is tearing this sandbox down; retry
  lease_lost,         ///< a peer owns the sandbox now
  id_collision,       ///< two scopes share one short id; nothing was handed out
  store_unavailable,  ///< the lease store cannot answer
  capacity_exceeded,  ///< no slot, and nothing parked to evict
  shutting_down,      ///< the node is stopping
  timed_out,          ///< not answered within its bound; it may have run
  cancelled,          ///< ended on request before it was done
  promise_forgotten,  ///< the actor that owed an answer dropped it (a defect of berth)
  backend_failure,    ///< the backend reported a failure
  backend_unknown,    ///< the backend cannot tell (not the same as gone)
  unsupported,        ///< this backend cannot do that
  path_missing,       ///< no such file or directory
  permission_denied,  ///< outside the sandbox's roots, or refused by the system
  read_only,          ///< below a read-only mount
  not_a_directory,    ///< a directory was needed
  is_a_directory,     ///< a file was needed
  too_large,          ///< over the size cap
  no_space,           ///< the disk or quota is full
  not_text,           ///< the bytes are not UTF-8
  command_not_found,  ///< the shell or the program could not be started
  config_invalid,     ///< the configuration was refused
  already_running,    ///< another node holds the port or the data directory
  protocol_error,     ///< the peer answered what was not asked
  unreachable,        ///< nothing listens at that address
};

/// The number of error codes, for tests that walk them all.
inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::unreachable) + 1;

/// The code's name as written in the source, for logs and JSON (`"capacity_exceeded"`).
std::string to_string(errc code);

/// One sentence for people, without context.
std::string_view describe(errc code);

/// CAF's tag of berth's errors.
constexpr caf::atom_value errc_category = caf::atom("berth");

/// An error of berth with its context: what was wrong, where, what would be right. Never put a secret there.
caf::error make_error(errc code, std::string context = {});

/// The code of an error; CAF's own errors are translated (a request timeout is `timed_out`, a dead receiver is
/// `sandbox_gone`, an exit is `shutting_down`).
errc code_of(const caf::error& reason);

/// The context given to make_error, or the rendered form of a foreign error.
std::string context_of(const caf::error& reason);

/// `<description>: <context>`, for people.
std::string explain(const caf::error& reason);

} // namespace berth
