#include "backends/exec_text.hpp"

#include "backends/utf8.hpp"

namespace berth {

namespace {

/// `10 seconds`, `1 second`, `1.5 seconds`.
std::string spell(std::chrono::milliseconds x) {
  const auto count = x.count();
  auto text = std::to_string(count / 1000);
  if (count % 1000 != 0) {
    auto part = std::to_string(1000 + count % 1000).substr(1);
    part.erase(part.find_last_not_of('0') + 1);
    text += "." + part;
  }
  return text + (count == 1000 ? " second" : " seconds");
}

std::string stream_text(const bytes& kept, std::int64_t total) {
  auto text = to_utf8(kept.data);
  const auto size = static_cast<std::int64_t>(kept.data.size());
  if (total > size)
    text += "\n... [output truncated after " + std::to_string(size) + " of " + std::to_string(total)
            + " bytes; remaining output discarded] ...";
  return text;
}

} // namespace

std::string render_text(const executed& x, std::chrono::milliseconds timeout) {
  auto text = stream_text(x.out, x.out_total);
  if (const auto err = stream_text(x.err, x.err_total); !err.empty())
    text += (text.empty() ? "" : "\nStd Error:\n") + err;
  if (x.status.kind == exit_kind::timed_out) {
    if (!text.empty())
      text += '\n';
    return text + "Command timed out after " + spell(timeout)
           + " and was terminated. Start a long-running process in the background and redirect its output to a log, "
             "for example: your-command > /mnt/user-data/workspace/server.log 2>&1 &";
  }
  const auto code = x.status.kind == exit_kind::signaled ? -x.status.code : x.status.code;
  if (code != 0)
    text += "\nExit Code: " + std::to_string(code);
  return text.empty() ? "(no output)" : text;
}

} // namespace berth
