#include "backends/local/files.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "backends/utf8.hpp"

namespace berth::local {

namespace {

caf::expected<std::string> read_whole(const mount_table& mounts, std::string_view path) {
  // Opening a device may do something: what it is, is looked at first.
  const auto seen = mounts.open(path, O_PATH);
  struct stat kind {};
  if (seen && ::fstat(seen->get(), &kind) == 0 && !S_ISREG(kind.st_mode) && !S_ISDIR(kind.st_mode))
    return make_error(errc::invalid_argument, "'" + printable(path) + "' is not a regular file");
  // Without O_NONBLOCK the open of a FIFO would hold a file thread until somebody writes.
  auto fd = mounts.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd)
    return fd.error();
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0)
    return file_error(errno, path);
  if (S_ISDIR(info.st_mode))
    return file_error(EISDIR, path);
  if (!S_ISREG(info.st_mode))
    return make_error(errc::invalid_argument, "'" + printable(path) + "' is not a regular file");
  const auto too_large = [&](std::int64_t size) {
    return make_error(errc::too_large, "'" + printable(path) + "' has " + std::to_string(size) + " bytes; at most "
                                           + std::to_string(file_cap) + " are read");
  };
  if (info.st_size > file_cap)
    return too_large(info.st_size);
  std::string data(static_cast<std::size_t>(info.st_size) + 1, '\0'); // one more: end of file without growing
  std::size_t size = 0;
  for (;;) {
    const auto n = ::read(fd->get(), data.data() + size, data.size() - size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return file_error(errno, path);
    size += static_cast<std::size_t>(n);
    if (static_cast<std::int64_t>(size) > file_cap) // it grew meanwhile
      return too_large(static_cast<std::int64_t>(size));
    if (n == 0)
      break;
    if (size == data.size())
      data.resize(std::min<std::size_t>(data.size() * 2, static_cast<std::size_t>(file_cap) + 1));
  }
  data.resize(size);
  return data;
}

int write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const auto n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// CRLF and lone CR become LF.
std::string universal_newlines(std::string text) {
  if (std::count(text.begin(), text.end(), '\r') == 0) // find() trips g++ 12's -Wstringop-overread at -O2
    return text;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n')
      ++i;
  }
  return out;
}

std::string line_range(std::string_view text, std::int64_t first, std::int64_t last) {
  std::string out;
  std::int64_t number = 1;
  for (std::size_t at = 0; at < text.size() && number <= last; ++number) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (number >= first) {
      if (number > first)
        out += '\n';
      out += text.substr(at, end - at);
    }
    at = end + 1;
  }
  return out;
}

caf::expected<file_written> replace(const mount_table& mounts, std::string_view path, std::string_view content) {
  auto parent = mounts.open_parent(path);
  if (!parent)
    return parent.error();
  const auto dir = parent->directory.get();
  mode_t mode = 0644;
  struct stat info {};
  if (::fstatat(dir, parent->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(info.st_mode))
      return file_error(EISDIR, path);
    if (!S_ISREG(info.st_mode))
      return make_error(errc::invalid_argument, "'" + printable(path) + "' is not a regular file");
    mode = info.st_mode & 07777;
  }
  static std::atomic<std::uint64_t> counter{0};
  const auto temp = ".upload-" + std::to_string(::getpid()) + "-" + std::to_string(++counter) + ".part";
  unique_fd fd{::openat(dir, temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!fd)
    return file_error(errno, path);
  auto code = write_all(fd.get(), content);
  if (code == 0 && ::fchmod(fd.get(), mode) != 0)
    code = errno;
  if (code == 0 && ::renameat(dir, temp.c_str(), dir, parent->name.c_str()) != 0)
    code = errno;
  if (code != 0) {
    ::unlinkat(dir, temp.c_str(), 0);
    return file_error(code, path);
  }
  return file_written{static_cast<std::int64_t>(content.size())};
}

caf::expected<file_written> append(const mount_table& mounts, std::string_view path, std::string_view content) {
  auto parent = mounts.open_parent(path);
  if (!parent)
    return parent.error();
  unique_fd fd{::openat(parent->directory.get(), parent->name.c_str(),
                        O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644)};
  if (!fd)
    return file_error(errno, path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0)
    return file_error(errno, path);
  if (!S_ISREG(info.st_mode))
    return make_error(errc::invalid_argument, "'" + printable(path) + "' is not a regular file");
  if (const auto code = write_all(fd.get(), content); code != 0) {
    // All or nothing, as far as a shared file allows it.
    [[maybe_unused]] const auto ignored = ::ftruncate(fd.get(), info.st_size);
    return file_error(code, path);
  }
  return file_written{static_cast<std::int64_t>(info.st_size) + static_cast<std::int64_t>(content.size())};
}

} // namespace

caf::expected<file_content> read_text(const mount_table& mounts, const read_file& x, bool translate) {
  auto data = read_whole(mounts, x.path);
  if (!data)
    return data.error();
  if (!is_utf8(*data))
    return make_error(errc::not_text, "'" + printable(x.path) + "': read it with download_file or a command");
  auto text = universal_newlines(std::move(*data));
  if (x.start_line || x.end_line)
    text = line_range(text, std::max<std::int64_t>(1, x.start_line.value_or(1)),
                      x.end_line ? *x.end_line : std::numeric_limits<std::int64_t>::max());
  return file_content{{translate ? mounts.map().text_to_virtual(text) : std::move(text)}};
}

caf::expected<file_written> write_text(const mount_table& mounts, const write_file& x, bool translate) {
  const auto content = translate ? mounts.map().text_to_host(x.content.data) : x.content.data;
  return x.append ? append(mounts, x.path, content) : replace(mounts, x.path, content);
}

caf::expected<file_written> write_bytes(const mount_table& mounts, const update_file& x) {
  return replace(mounts, x.path, x.content.data);
}

caf::expected<file_content> read_bytes(const mount_table& mounts, const download_file& x) {
  auto path = x.path;
  std::replace(path.begin(), path.end(), '\\', '/');
  path = "/" + path.substr(std::min(path.find_first_not_of('/'), path.size()));
  if (path != "/mnt/user-data" && !path.starts_with("/mnt/user-data/"))
    return make_error(errc::permission_denied,
                      "'" + printable(x.path) + "': only files below /mnt/user-data are downloaded");
  auto data = read_whole(mounts, path);
  if (!data)
    return data.error();
  return file_content{{std::move(*data)}};
}

} // namespace berth::local
