#pragma once
// Opens a sandbox's paths on the host such that nothing outside its mounts is ever reached.
//
// The kernel resolves each path beneath the directory of its mount (openat2, RESOLVE_BENEATH): `..`, absolute links and
// links swapped in between cannot leave it. Where that refuses, links are followed here, one by one, and the result is
// opened beneath its own mount in the same way, so that a link written inside the sandbox to one of its own absolute
// paths works.
#include <caf/error.hpp>
#include <caf/expected.hpp>

#include "backends/local/paths.hpp"
#include "backends/local/unique_fd.hpp"
#include "messages/errors.hpp"

namespace berth::local {

/// Control bytes as \xNN, and at most 300 characters: for error texts.
std::string printable(std::string_view text);

/// The error of a failed system call on `path`, which is shown as it was requested. Never a host path.
caf::error file_error(int code, std::string_view path);

/// The last part of a path, with its directory open.
struct parent_and_name {
  unique_fd directory;
  std::string name;
};

/// The mounts of one sandbox, open. Immutable: any thread may use it.
class mount_table {
public:
  /// Opens every host root. Errors: as file_error, naming the virtual root.
  static caf::expected<std::shared_ptr<const mount_table>> open_all(std::shared_ptr<const path_map> map);

  [[nodiscard]] const path_map& map() const { return *map_; }

  /// Opens `path` with `flags` (O_CLOEXEC is added). Errors: invalid_argument (not absolute, NUL), permission_denied
  /// (no mount holds it, or it leads out), read_only (a write below a read-only mount), path_missing, ...
  [[nodiscard]] caf::expected<unique_fd> open(std::string_view path, int flags, unsigned mode = 0) const;

  /// The directory that holds the file `path` means, links followed, and its name in it: for a rename over it. Makes
  /// missing directories. Errors: as open; is_a_directory for a mount's root.
  [[nodiscard]] caf::expected<parent_and_name> open_parent(std::string_view path) const;

  /// Whether `path`, if it exists, stays beneath its mount.
  [[nodiscard]] caf::error check(std::string_view path) const;

private:
  struct place {
    const mount* in = nullptr;
    int root = -1;
    std::string below;
  };
  explicit mount_table(std::shared_ptr<const path_map> map) : map_(std::move(map)) {}
  [[nodiscard]] caf::expected<place> locate(const std::string& path, std::string_view requested) const;
  [[nodiscard]] caf::expected<std::string> follow(std::string path, std::string_view requested, bool also_last) const;

  std::shared_ptr<const path_map> map_;
  std::vector<unique_fd> roots_; ///< in the order of map_->mounts()
};

/// openat2 beneath `root`; -1 and errno on failure.
int open_beneath(int root, const std::string& path, int flags, unsigned mode = 0);

} // namespace berth::local
