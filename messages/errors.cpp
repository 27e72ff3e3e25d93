#include "messages/errors.hpp"

#include <array>

#include <caf/all.hpp>

namespace berth {

namespace {

struct entry {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<entry, errc_count> entries{{
    {"none", "no error"},
    {"invalid_argument", "invalid argument"},
    {"invalid_scope", "invalid scope"},
    {"sandbox_unknown", "no such sandbox on this node"},
    {"sandbox_not_active", "the sandbox is not active; acquire it first"},
    {"sandbox_gone", "the sandbox is gone; the next acquire makes a new one"},
    {"being_destroyed", "the sandbox is being torn down; retry in a moment"},
    {"lease_lost", "another node owns this sandbox now"},
    {"id_collision", "two scopes share one sandbox id; nothing was handed out"},
    {"store_unavailable", "the lease store cannot answer"},
    {"capacity_exceeded", "no free sandbox slot"},
    {"shutting_down", "the node is shutting down"},
    {"timed_out", "not answered in time; it may have run"},
    {"cancelled", "cancelled"},
    {"promise_forgotten", "an actor dropped its answer (please report this)"},
    {"backend_failure", "the sandbox backend failed"},
    {"backend_unknown", "the sandbox backend cannot tell"},
    {"unsupported", "not supported by this backend"},
    {"path_missing", "no such file or directory"},
    {"permission_denied", "permission denied"},
    {"read_only", "read-only"},
    {"not_a_directory", "not a directory"},
    {"is_a_directory", "is a directory, not a file"},
    {"too_large", "too large"},
    {"no_space", "no space left"},
    {"not_text", "not valid UTF-8 text"},
    {"command_not_found", "the command could not be started"},
    {"config_invalid", "invalid configuration"},
    {"already_running", "already running"},
    {"protocol_error", "unexpected answer from a peer"},
    {"unreachable", "nothing listens at that address"},
}};

} // namespace

std::string to_string(errc code) {
  const auto i = static_cast<std::size_t>(code);
  return i < entries.size() ? std::string{entries[i].name} : "errc(" + std::to_string(i) + ")";
}

std::string_view describe(errc code) {
  const auto i = static_cast<std::size_t>(code);
  return i < entries.size() ? entries[i].text : "unknown error";
}

caf::error make_error(errc code, std::string context) {
  return {static_cast<std::uint8_t>(code), errc_category,
          context.empty() ? caf::message{} : caf::make_message(std::move(context))};
}

errc code_of(const caf::error& reason) {
  if (!reason)
    return errc::none;
  if (reason.category() == errc_category)
    return reason.code() < errc_count ? static_cast<errc>(reason.code()) : errc::protocol_error;
  if (reason.category() == caf::atom("exit"))
    return errc::shutting_down;
  if (reason == caf::sec::request_timeout)
    return errc::timed_out;
  if (reason == caf::sec::request_receiver_down || reason == caf::sec::cannot_forward_to_invalid_actor
      || reason == caf::sec::invalid_argument)
    return errc::sandbox_gone;
  return errc::protocol_error;
}

std::string context_of(const caf::error& reason) {
  if (!reason)
    return {};
  if (reason.category() == errc_category) {
    const auto& context = reason.context();
    return context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string{};
  }
  if (code_of(reason) != errc::protocol_error)
    return {};
  return "CAF error " + to_string(reason.category()) + ":" + std::to_string(reason.code());
}

std::string explain(const caf::error& reason) {
  std::string text{describe(code_of(reason))};
  if (auto context = context_of(reason); !context.empty())
    text += ": " + context;
  return text;
}

} // namespace berth
