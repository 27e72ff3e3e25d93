#pragma once
// The data directory of the local backend:
//   lock                              held by the node that uses it
//   users/USER/threads/THREAD/...     the users' files; they outlive every sandbox
//   sandboxes/ID/instance.json        one running sandbox; removed with it
#include <filesystem>
#include <functional>
#include <memory>

#include "backends/local/paths.hpp"
#include "backends/local/unique_fd.hpp"
#include "messages/backend.hpp"

namespace berth::local {

/// One data directory, locked. Blocking calls: for file threads. Any thread may use it.
class data_dir {
public:
  /// Makes it where needed and takes the lock. Errors: already_running (names the pid that holds it),
  /// permission_denied, read_only, no_space, config_invalid (empty, or not a directory).
  static caf::expected<std::shared_ptr<const data_dir>> open(const std::filesystem::path& root,
                                                             const std::string& node);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// Makes the directories of a scope (mode 0700) and returns its mounts: /mnt/user-data and /mnt/acp-workspace.
  /// Errors: invalid_scope (a part that cannot name a folder), no_space, read_only, permission_denied.
  [[nodiscard]] caf::expected<std::vector<mount>> prepare(const scope& x) const;

  /// Writes, or removes, the record of a running sandbox. Errors: as prepare.
  [[nodiscard]] caf::error write_record(const instance& x) const;
  [[nodiscard]] caf::error remove_record(const sandbox_id& id) const;

  /// Removes the records of a node that died and calls `each` with their sandbox and instance id (empty = unreadable).
  void remove_stale(const std::function<void(const std::string& id, const std::string& instance)>& each) const;

private:
  data_dir(std::filesystem::path root, unique_fd lock) : root_(std::move(root)), lock_(std::move(lock)) {}
  std::filesystem::path root_;
  unique_fd lock_;
};

/// A random (version 4) UUID.
std::string random_uuid();

} // namespace berth::local
