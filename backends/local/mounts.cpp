#include "backends/local/mounts.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace berth::local {

namespace {

constexpr int max_links = 40;
constexpr std::uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

/// Steps from `path` (free of links) along `part`.
void step(std::string& path, std::string_view part) {
  if (part.empty() || part == ".")
    return;
  if (part == "..") {
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    return;
  }
  path.append("/").append(part);
}

std::string take_part(std::string& rest) {
  const auto begin = rest.find_first_not_of('/');
  if (begin == std::string::npos) {
    rest.clear();
    return {};
  }
  const auto end = std::min(rest.find('/', begin), rest.size());
  auto part = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return part;
}

} // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, 300)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    else
      out += c;
  }
  return text.size() > 300 ? out + "..." : out;
}

caf::error file_error(int code, std::string_view path) {
  const auto shown = "'" + printable(path) + "'";
  switch (code) {
  case ENOENT:
    return make_error(errc::path_missing, shown);
  case EACCES:
  case EPERM:
    return make_error(errc::permission_denied, shown);
  case ELOOP:
    return make_error(errc::permission_denied, shown + " leads into a loop of symbolic links, or through too many");
  case ENXIO: // a socket, or a FIFO that nobody reads
    return make_error(errc::invalid_argument, shown + " is not a regular file");
  case EXDEV:
    return make_error(errc::permission_denied, shown + " leads out of the sandbox's directories");
  case EROFS:
    return make_error(errc::read_only, shown);
  case ENOSPC:
  case EDQUOT:
    return make_error(errc::no_space, shown);
  case EISDIR:
    return make_error(errc::is_a_directory, shown);
  case ENOTDIR:
    return make_error(errc::not_a_directory, shown);
  case EFBIG:
    return make_error(errc::too_large, shown);
  case ENAMETOOLONG:
    return make_error(errc::invalid_argument, shown + ": a name may have 255 bytes, a path 4095");
  default:
    return make_error(errc::backend_failure, shown + ": " + std::strerror(code));
  }
}

int open_beneath(int root, const std::string& path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
  how.resolve = beneath;
  for (int attempt = 0;; ++attempt) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
    // EAGAIN: something was renamed while the kernel walked; it could not tell whether the walk left the root.
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || attempt == 100)
      return fd;
  }
}

caf::expected<std::shared_ptr<const mount_table>> mount_table::open_all(std::shared_ptr<const path_map> map) {
  std::shared_ptr<mount_table> table{new mount_table{std::move(map)}};
  for (const auto& m : table->map_->mounts()) {
    unique_fd root{::open(m.host_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!root)
      return file_error(errno, m.virtual_root);
    table->roots_.push_back(std::move(root));
  }
  return std::shared_ptr<const mount_table>{std::move(table)};
}

caf::expected<mount_table::place> mount_table::locate(const std::string& path, std::string_view requested) const {
  if (!requested.starts_with('/') || requested.find('\0') != std::string_view::npos)
    return make_error(errc::invalid_argument,
                      "path '" + printable(requested) + "': must be absolute, such as /mnt/user-data/workspace/a.txt");
  const auto& mounts = map_->mounts();
  const auto* m = find_mount(mounts, path);
  if (m == nullptr)
    return make_error(errc::permission_denied, "'" + printable(requested) + "' is outside the sandbox's directories");
  return place{m, roots_[static_cast<std::size_t>(m - mounts.data())].get(), below_mount(*m, path)};
}

caf::expected<std::string> mount_table::follow(std::string path, std::string_view requested, bool also_last) const {
  std::string done;
  auto rest = std::move(path);
  for (int links = 0; links <= max_links;) {
    const auto part = take_part(rest);
    if (part.empty())
      return done.empty() ? "/" : done;
    auto next = done;
    step(next, part);
    if (part == "." || part == "..") {
      done = std::move(next);
      continue;
    }
    const auto last = rest.find_first_not_of('/') == std::string::npos;
    const auto* m = find_mount(map_->mounts(), next);
    if (m == nullptr || (last && !also_last)) {
      done = std::move(next); // above every mount there are no links of the sandbox
      continue;
    }
    auto at = locate(next, requested);
    if (!at)
      return at.error();
    unique_fd fd{open_beneath(at->root, at->below, O_PATH | O_NOFOLLOW)};
    std::string target(PATH_MAX, '\0');
    const auto size = fd ? ::readlinkat(fd.get(), "", target.data(), target.size()) : -1;
    if (size <= 0) { // no link, or missing: the open to come says so
      done = std::move(next);
      continue;
    }
    ++links;
    target.resize(static_cast<std::size_t>(size));
    if (target.starts_with('/')) {
      done.clear();
      target = map_->to_virtual(target);
    }
    rest.insert(0, target + "/");
  }
  return file_error(ELOOP, requested);
}

caf::expected<unique_fd> mount_table::open(std::string_view requested, int flags, unsigned mode) const {
  const auto writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  auto path = tidy(requested);
  for (const auto followed : {false, true}) {
    auto at = locate(path, requested);
    if (!at)
      return at.error();
    if (writes && at->in->read_only)
      return file_error(EROFS, requested);
    unique_fd fd{open_beneath(at->root, at->below, flags, mode)};
    if (fd)
      return fd;
    if (followed || errno != EXDEV)
      return file_error(errno, requested);
    auto target = follow(path, requested, (flags & O_NOFOLLOW) == 0);
    if (!target)
      return target.error();
    path = *target;
  }
  return file_error(EXDEV, requested);
}

caf::expected<parent_and_name> mount_table::open_parent(std::string_view requested) const {
  auto first = locate(tidy(requested), requested);
  if (!first)
    return first.error();
  if (first->in->read_only)
    return file_error(EROFS, requested);
  auto path = follow(tidy(requested), requested, true);
  if (!path)
    return path.error();
  auto at = locate(*path, requested);
  if (!at)
    return at.error();
  if (at->in->read_only)
    return file_error(EROFS, requested);
  if (at->below == "." || requested.ends_with('/'))
    return file_error(EISDIR, requested);
  parent_and_name out{unique_fd{open_beneath(at->root, ".", O_PATH | O_DIRECTORY)}, {}};
  auto rest = at->below;
  for (auto part = take_part(rest);; part = take_part(rest)) {
    if (!out.directory)
      return file_error(errno, requested);
    if (rest.empty()) {
      out.name = std::move(part);
      return out;
    }
    if (::mkdirat(out.directory.get(), part.c_str(), 0755) != 0 && errno != EEXIST)
      return file_error(errno, requested);
    // Free of links when it was followed; one that was swapped in since is refused.
    out.directory = unique_fd{open_beneath(out.directory.get(), part, O_PATH | O_DIRECTORY | O_NOFOLLOW)};
  }
}

caf::error mount_table::check(std::string_view path) const {
  const auto fd = open(path, O_PATH);
  if (!fd && code_of(fd.error()) == errc::permission_denied)
    return fd.error();
  return {};
}

} // namespace berth::local
