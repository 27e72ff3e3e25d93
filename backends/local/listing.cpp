#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

#include "backends/ignore.hpp"
#include "backends/local/files.hpp"

namespace berth::local {

namespace {

class lister {
public:
  lister(int root, std::string prefix) : root_(root), prefix_(std::move(prefix)) {}

  void walk(unique_fd directory, const std::string& below, std::int32_t depth) {
    auto* const stream = ::fdopendir(directory.get());
    if (stream == nullptr)
      return;
    const auto fd = directory.release(); // the stream owns it now
    while (const auto* const entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || is_ignored(name))
        continue;
      struct stat info {};
      if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      const auto path = below + name;
      if (S_ISLNK(info.st_mode)) {
        add_link(path);
        continue;
      }
      found_.push_back(prefix_ + path + (S_ISDIR(info.st_mode) ? "/" : ""));
      if (S_ISDIR(info.st_mode) && depth > 1)
        // Refuses a link swapped in meanwhile; what cannot be read is skipped.
        walk(unique_fd{::openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)}, path + "/",
             depth - 1);
    }
    ::closedir(stream);
  }

  std::vector<std::string> take() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

  void add(std::string entry) { found_.push_back(std::move(entry)); }

private:
  void add_link(const std::string& path) {
    const unique_fd target{open_beneath(root_, path, O_PATH)};
    if (!target && errno != ENOENT)
      return; // it leads out of what is listed, or cannot be told
    struct stat info {};
    const auto is_dir = target && ::fstat(target.get(), &info) == 0 && S_ISDIR(info.st_mode);
    found_.push_back(prefix_ + path + (is_dir ? "/" : ""));
  }

  int root_;
  std::string prefix_;
  std::vector<std::string> found_;
};

} // namespace

caf::expected<dir_listing> list_tree(const mount_table& mounts, const list_dir& x) {
  if (x.max_depth < 0)
    return make_error(errc::invalid_argument, "max_depth " + std::to_string(x.max_depth) + " for '" + printable(x.path)
                                                  + "': must be 0 or more");
  const auto path = tidy(x.path);
  const auto prefix = path == "/" ? path : path + "/";
  // Mounts right below the asked path are its children, also where no directory of the host lies under it (L8).
  std::set<std::string> children;
  for (const auto& m : mounts.map().mounts())
    if (m.virtual_root.starts_with(prefix) && m.virtual_root != path)
      children.insert(m.virtual_root.substr(0, m.virtual_root.find('/', prefix.size())) + "/");
  auto fd = mounts.open(x.path, O_RDONLY | O_DIRECTORY);
  if (!fd && (children.empty() || code_of(fd.error()) == errc::invalid_argument))
    return fd.error();
  const auto root = fd ? fd->get() : -1;
  lister out{root, prefix};
  if (fd && x.max_depth > 0)
    out.walk(unique_fd{open_beneath(root, ".", O_RDONLY | O_DIRECTORY)}, "", x.max_depth);
  if (x.max_depth > 0)
    for (const auto& child : children)
      out.add(child);
  return dir_listing{out.take()};
}

} // namespace berth::local
