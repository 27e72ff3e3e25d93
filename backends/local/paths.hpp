#pragma once
// Virtual and host paths of one sandbox, and their translation inside text (spec: contract.md section 8).
//
// Needed where a sandbox has no file system of its own: commands name virtual paths, the shell needs host paths, and
// what it prints must not show them. Pure text: whether a path stays beneath its mount is decided by the kernel when it
// is opened (files.hpp).
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::local {

/// One directory of the host, as the sandbox sees it. Read-write unless said otherwise.
struct mount {
  std::string virtual_root; ///< absolute, no trailing slash (but "/" itself)
  std::string host_root;    ///< absolute and resolved
  bool read_only = false;
  friend bool operator==(const mount&, const mount&) = default;
};

/// The path with `//`, `/.` and trailing slashes removed; `..` stays: what it means depends on links.
std::string tidy(std::string_view path);

/// The mount with the longest virtual root that holds `path`, at a segment boundary; null = none.
const mount* find_mount(const std::vector<mount>& mounts, std::string_view path);

/// `path` below its mount, without leading slash; "." for the root itself.
std::string below_mount(const mount& m, std::string_view path);

/// Translates between virtual and host paths. Patterns are compiled once, here; immutable, so any thread may use it.
class path_map {
public:
  explicit path_map(std::vector<mount> mounts);
  ~path_map();
  path_map(const path_map&) = delete;
  path_map& operator=(const path_map&) = delete;

  [[nodiscard]] const std::vector<mount>& mounts() const { return mounts_; }

  /// The host path of a virtual one; unchanged where no mount holds it.
  [[nodiscard]] std::string to_host(std::string_view path) const;

  /// The virtual path of a host one; unchanged where no mount holds it. The longest host root wins.
  [[nodiscard]] std::string to_virtual(std::string_view path) const;

  /// The virtual paths that a shell command names: a mount root and its tail.
  [[nodiscard]] std::vector<std::string> paths_in_command(std::string_view command) const;

  /// A shell command with those paths replaced by host paths.
  [[nodiscard]] std::string command_to_host(std::string_view command) const;

  /// Text with virtual roots replaced by host roots. The boundary is that of text: end, `/`, or a character that no
  /// file name continues with.
  [[nodiscard]] std::string text_to_host(std::string_view text) const;

  /// Text with host roots replaced by virtual roots; a sibling that only shares the prefix stays.
  [[nodiscard]] std::string text_to_virtual(std::string_view text) const;

  /// As text_to_virtual for the start of `text`; `rest` receives its end, which may be the start of a host root.
  [[nodiscard]] std::string text_to_virtual(std::string_view text, std::string& rest) const;

private:
  struct patterns;
  std::vector<mount> mounts_;
  std::unique_ptr<patterns> patterns_;
};

/// text_to_virtual for a stream that arrives in pieces: a possible match at the end of one waits for the next.
class stream_translator {
public:
  explicit stream_translator(std::shared_ptr<const path_map> map) : map_(std::move(map)) {}

  /// The translation of what is certain after this piece.
  std::string feed(std::string_view piece);

  /// The translation of what was held back: nothing more comes.
  std::string finish();

private:
  std::shared_ptr<const path_map> map_;
  std::string held_;
};

} // namespace berth::local
