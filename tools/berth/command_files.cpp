// read, write and ls: files of a sandbox.
#include <array>

#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "tools/berth/output.hpp"
#include "tools/berth/progress.hpp"
#include "tools/berth/workplace.hpp"

namespace berth::cli {

namespace {

// As with_advice, and what the command line has for a file that is no text.
caf::error advise(const context& c, const caf::error& reason) {
  if (code_of(reason) == errc::not_text && c.opts.what == command::read)
    return make_error(errc::not_text, "'" + escaped(c.opts.path) + "': print it with 'berth read --bytes'");
  return with_advice(c, reason);
}

// Enters the sandbox, asks it, leaves it, and hands the answer to `print`, which answers the exit status.
template <class Reply, class Request, class Print>
int ask_sandbox(const context& c, Request request, const char* doing, Print print) {
  auto place = workplace::enter(c, false);
  if (!place)
    return fail(c, place.error());
  auto reply = [&] {
    const progress shown{std::string{doing} + " " + c.opts.path};
    return place->link().template call<Reply>(place->handle(), file_bound, std::move(request));
  }();
  if (const auto e = place->leave())
    print_note("the sandbox could not be released: " + explain(e));
  if (!reply)
    return fail(c, advise(c, reply.error()));
  return print(*reply);
}

caf::expected<std::string> read_standard_input() {
  std::string result;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n == 0)
      return result;
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return make_error(errc::invalid_argument, std::string{"standard input cannot be read: "} + std::strerror(errno));
    result.append(buffer.data(), static_cast<std::size_t>(n));
    if (result.size() > static_cast<std::size_t>(file_cap))
      return make_error(errc::too_large,
                        "standard input: at most " + std::to_string(file_cap) + " bytes can be written");
  }
}

template <class T>
caf::optional<T> to_caf(const std::optional<T>& x) {
  return x ? caf::optional<T>{*x} : caf::optional<T>{};
}

} // namespace

int read(const context& c) {
  if (c.opts.raw_bytes)
    return ask_sandbox<file_content>(c, download_file{c.opts.path}, "reading", [&](const file_content& x) {
      if (!c.opts.json)
        return print_text(x.data.data);
      return print_json({{"id", c.opts.who.id.value},
                         {"path", c.opts.path},
                         {"content", base64(x.data.data)},
                         {"content_encoding", "base64"}});
    });
  const read_file request{c.opts.path, to_caf(c.opts.first_line), to_caf(c.opts.last_line)};
  return ask_sandbox<file_content>(c, request, "reading", [&](const file_content& x) {
    if (!c.opts.json)
      return print_text(x.data.data);
    nlohmann::ordered_json document{{"id", c.opts.who.id.value}, {"path", c.opts.path}};
    put_bytes(document, "content", x.data);
    return print_json(document);
  });
}

int write(const context& c) {
  auto content = c.opts.content ? caf::expected<std::string>{*c.opts.content} : read_standard_input();
  if (!content)
    return fail(c, content.error());
  const write_file request{c.opts.path, {std::move(*content)}, c.opts.append};
  return ask_sandbox<file_written>(c, request, "writing", [&](const file_written& x) {
    if (!c.opts.json)
      return 0;
    return print_json({{"id", c.opts.who.id.value}, {"path", c.opts.path}, {"size", x.size}});
  });
}

int ls(const context& c) {
  return ask_sandbox<dir_listing>(c, list_dir{c.opts.path, c.opts.depth}, "listing", [&](const dir_listing& x) {
    if (c.opts.json)
      return print_json({{"id", c.opts.who.id.value}, {"path", c.opts.path}, {"entries", x.entries}});
    std::string text;
    for (const auto& entry : x.entries)
      text += escaped(entry) + "\n";
    return print_text(text);
  });
}

} // namespace berth::cli
