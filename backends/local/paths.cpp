#include "backends/local/paths.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace berth::local {

namespace {

/// The class of characters that a path in a shell command ends before.
constexpr std::string_view shell_stop = R"(\s"';&|<>())";

bool by_length(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() > b.size() : a < b;
}

/// `(ROOT|ROOT...)`, the longest first.
std::string any_of(std::vector<std::string> roots) {
  std::sort(roots.begin(), roots.end(), by_length);
  std::string out;
  for (const auto& root : roots)
    out += (out.empty() ? "(" : "|") + RE2::QuoteMeta(root);
  return out + ")";
}

/// Whether `path` is `root` or below it.
bool holds(std::string_view root, std::string_view path) {
  if (root == "/")
    return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string rebase(std::string_view from, std::string_view to, std::string_view path) {
  auto tail = path.substr(from == "/" ? 0 : from.size());
  if (to == "/")
    return tail.empty() ? "/" : std::string{tail};
  return std::string{to} + (tail == "/" ? std::string{} : std::string{tail});
}

} // namespace

std::string tidy(std::string_view path) {
  std::string out;
  std::size_t at = 0;
  while (at < path.size()) {
    const auto end = std::min(path.find('/', at), path.size());
    const auto part = path.substr(at, end - at);
    if (!part.empty() && part != ".")
      out.append("/").append(part);
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

const mount* find_mount(const std::vector<mount>& mounts, std::string_view path) {
  const mount* best = nullptr;
  for (const auto& m : mounts)
    if (holds(m.virtual_root, path) && (best == nullptr || m.virtual_root.size() > best->virtual_root.size()))
      best = &m;
  return best;
}

std::string below_mount(const mount& m, std::string_view path) {
  auto tail = path.substr(m.virtual_root == "/" ? 0 : m.virtual_root.size());
  while (tail.starts_with('/'))
    tail.remove_prefix(1);
  return tail.empty() ? "." : std::string{tail};
}

struct path_map::patterns {
  RE2 command;
  RE2 text;
  RE2 host;
  std::vector<std::string> host_roots;

  static RE2::Options options() {
    RE2::Options o;
    o.set_encoding(RE2::Options::EncodingLatin1); // bytes: output may be anything
    o.set_log_errors(false);
    o.set_dot_nl(true);
    return o;
  }

  patterns(const std::vector<std::string>& virtual_roots, std::vector<std::string> hosts)
      : command(any_of(virtual_roots) + "(/[^" + std::string{shell_stop} + "]*|[" + std::string{shell_stop}
                    + R"(]|\z))",
                options()),
        text(any_of(virtual_roots) + R"((/|[^A-Za-z0-9_./\-]|\z))", options()),
        host(any_of(hosts) + R"((/|[^A-Za-z0-9_./\-]|\z))", options()), host_roots(std::move(hosts)) {}
};

path_map::path_map(std::vector<mount> mounts) : mounts_(std::move(mounts)) {
  std::vector<std::string> virtual_roots;
  std::vector<std::string> host_roots;
  for (const auto& m : mounts_)
    // Equal on both sides needs no translation, and "/" would match everywhere.
    if (m.virtual_root != m.host_root && m.virtual_root != "/" && m.host_root != "/") {
      virtual_roots.push_back(m.virtual_root);
      host_roots.push_back(m.host_root);
    }
  if (!virtual_roots.empty())
    patterns_ = std::make_unique<patterns>(virtual_roots, std::move(host_roots));
}

path_map::~path_map() = default;

std::string path_map::to_host(std::string_view path) const {
  const auto* m = find_mount(mounts_, path);
  return m == nullptr ? std::string{path} : rebase(m->virtual_root, m->host_root, path);
}

std::string path_map::to_virtual(std::string_view path) const {
  const mount* best = nullptr;
  for (const auto& m : mounts_)
    if (holds(m.host_root, path) && (best == nullptr || m.host_root.size() > best->host_root.size()))
      best = &m;
  return best == nullptr ? std::string{path} : rebase(best->host_root, best->virtual_root, path);
}

namespace {

/// Calls `on_match(root, tail)` for every match in order, and `between(text)` for what lies between them.
template <class Match, class Between>
void each_match(const RE2& pattern, std::string_view text, Match on_match, Between between) {
  std::size_t at = 0;
  std::size_t from = 0;
  re2::StringPiece parts[3];
  const re2::StringPiece all{text.data(), text.size()};
  while (at <= text.size() && pattern.Match(all, at, text.size(), RE2::UNANCHORED, parts, 3)) {
    const auto begin = static_cast<std::size_t>(parts[1].data() - text.data());
    between(text.substr(from, begin - from));
    const auto used = on_match(std::string_view{parts[1].data(), parts[1].size()},
                               std::string_view{parts[2].data(), parts[2].size()});
    from = at = begin + used;
  }
  between(text.substr(from));
}

} // namespace

std::vector<std::string> path_map::paths_in_command(std::string_view command) const {
  std::vector<std::string> found;
  if (patterns_)
    each_match(
        patterns_->command, command,
        [&](std::string_view root, std::string_view tail) {
          const auto length = root.size() + (tail.starts_with('/') ? tail.size() : 0);
          found.emplace_back(root.data(), length);
          return length;
        },
        [](std::string_view) {});
  return found;
}

namespace {

/// Replaces each matched root by `translate(root)`.
template <class Translate>
std::string replace_roots(const RE2& pattern, std::string_view text, Translate translate) {
  std::string out;
  out.reserve(text.size());
  each_match(
      pattern, text,
      [&](std::string_view root, std::string_view) {
        out += translate(root);
        return root.size();
      },
      [&](std::string_view between) { out += between; });
  return out;
}

} // namespace

std::string path_map::command_to_host(std::string_view command) const {
  return patterns_ ? replace_roots(patterns_->command, command, [this](auto root) { return to_host(root); })
                   : std::string{command};
}

std::string path_map::text_to_host(std::string_view text) const {
  return patterns_ ? replace_roots(patterns_->text, text, [this](auto root) { return to_host(root); })
                   : std::string{text};
}

std::string path_map::text_to_virtual(std::string_view text) const {
  return patterns_ ? replace_roots(patterns_->host, text, [this](auto root) { return to_virtual(root); })
                   : std::string{text};
}

std::string path_map::text_to_virtual(std::string_view text, std::string& rest) const {
  std::size_t held = 0;
  if (patterns_)
    for (const auto& root : patterns_->host_roots)
      for (auto n = std::min(root.size(), text.size()); n > held; --n)
        if (text.ends_with(std::string_view{root}.substr(0, n))) {
          held = n;
          break;
        }
  // What is certain is translated with its boundary in sight: a root that ends before the held part is complete.
  const auto certain = text.substr(0, text.size() - held);
  rest.assign(text.substr(certain.size()));
  return text_to_virtual(certain);
}

std::string stream_translator::feed(std::string_view piece) {
  held_.append(piece);
  std::string rest;
  auto out = map_->text_to_virtual(held_, rest);
  held_ = std::move(rest);
  return out;
}

std::string stream_translator::finish() {
  auto out = map_->text_to_virtual(held_);
  held_.clear();
  return out;
}

} // namespace berth::local
