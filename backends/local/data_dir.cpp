#include "backends/local/data_dir.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "messages/errors.hpp"

namespace berth::local {

namespace {

namespace fs = std::filesystem;

/// For the operator: names the host path, as he configured it.
caf::error directory_error(int code, const std::string& what, const fs::path& path) {
  const auto text = what + " '" + path.string() + "': " + std::strerror(code);
  switch (code) {
  case EACCES:
  case EPERM:
    return make_error(errc::permission_denied, text);
  case EROFS:
    return make_error(errc::read_only, text);
  case ENOSPC:
  case EDQUOT:
    return make_error(errc::no_space, text);
  case ENOTDIR:
  case ENAMETOOLONG:
  case ENOENT:
    return make_error(errc::config_invalid, text);
  default:
    return make_error(errc::backend_failure, text);
  }
}

/// Makes `path` and its parents below `from` with mode 0700, whatever the umask lets through.
caf::error make_directories(const fs::path& path) {
  fs::path at;
  for (const auto& part : path) {
    at /= part;
    if (::mkdir(at.c_str(), 0700) == 0 || errno == EEXIST)
      continue;
    struct stat info {};
    const auto code = errno;
    if (::stat(at.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      continue; // an automount or a read-only parent that is there already
    return directory_error(code, "cannot make the directory", at);
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return directory_error(errno, "cannot use the directory", path);
  if (!S_ISDIR(info.st_mode))
    return directory_error(ENOTDIR, "cannot use the directory", path);
  return {};
}

/// Names one folder and nothing else. The front of the node allows less (actors/scope.hpp).
bool names_folder(const std::string& part) {
  return !part.empty() && part.size() <= 255 && part != "." && part != ".." && part.find('/') == std::string::npos
         && part.find('\0') == std::string::npos;
}

} // namespace

std::string random_uuid() {
  unsigned char raw[16];
  for (std::size_t have = 0; have < sizeof raw;) {
    const auto n = ::getrandom(raw + have, sizeof raw - have, 0);
    have += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  raw[6] = static_cast<unsigned char>((raw[6] & 0x0f) | 0x40);
  raw[8] = static_cast<unsigned char>((raw[8] & 0x3f) | 0x80);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < sizeof raw; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      out += '-';
    out.append(1, digits[raw[i] >> 4]).append(1, digits[raw[i] & 15]);
  }
  return out;
}

caf::expected<std::shared_ptr<const data_dir>> data_dir::open(const fs::path& root, const std::string& node) {
  if (root.empty())
    return make_error(errc::config_invalid, "the data directory is empty; name a directory");
  std::error_code ec;
  const auto absolute = fs::absolute(root, ec).lexically_normal();
  if (auto e = make_directories(absolute))
    return e;
  const auto resolved = fs::canonical(absolute, ec);
  if (ec)
    return directory_error(ec.value(), "cannot use the data directory", absolute);
  const auto path = resolved / "lock";
  unique_fd lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!lock)
    return directory_error(errno, "cannot make the lock", path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    char text[64] = {};
    const auto n = ::read(lock.get(), text, sizeof text - 1);
    const std::string pid{text, n > 0 ? std::strcspn(text, "\n") : 0};
    return make_error(errc::already_running, "the data directory '" + resolved.string() + "' is used by "
                                                 + (pid.empty() ? "another node" : "the node with process id " + pid)
                                                 + "; stop that node, or give this one its own directory");
  }
  const auto text = std::to_string(::getpid()) + "\n" + node + "\n";
  if (::ftruncate(lock.get(), 0) != 0
      || ::pwrite(lock.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return directory_error(errno, "cannot write the lock", path);
  for (const auto* part : {"users", "sandboxes"})
    if (auto e = make_directories(resolved / part))
      return e;
  return std::shared_ptr<const data_dir>{new data_dir{resolved, std::move(lock)}};
}

caf::expected<std::vector<mount>> data_dir::prepare(const scope& x) const {
  if (!names_folder(x.user) || !names_folder(x.thread))
    return make_error(errc::invalid_scope, "user and thread must each be able to name a folder");
  const auto thread = root_ / "users" / x.user / "threads" / x.thread;
  for (const auto* part : {"user-data/workspace", "user-data/uploads", "user-data/outputs", "acp-workspace"})
    if (auto e = make_directories(thread / part))
      return e;
  // The parent is the mount, so that it can be listed; its three folders lie below it.
  return std::vector<mount>{{"/mnt/user-data", thread / "user-data", false},
                            {"/mnt/acp-workspace", thread / "acp-workspace", false}};
}

caf::error data_dir::write_record(const instance& x) const {
  const auto dir = root_ / "sandboxes" / x.id.value;
  if (auto e = make_directories(dir))
    return e;
  const nlohmann::json record{{"id", x.id.value},
                              {"instance", x.instance.value},
                              {"user", x.owner_scope.user},
                              {"thread", x.owner_scope.thread},
                              {"epoch", x.epoch.value},
                              {"fleet", x.fleet},
                              {"created_at_ms", x.created_at_ms},
                              {"pid", ::getpid()}};
  const auto text = record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const auto path = dir / "instance.json";
  const auto temp = dir / "instance.json.part";
  const unique_fd fd{::open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  auto code = fd ? 0 : errno;
  if (code == 0) {
    const auto n = ::write(fd.get(), text.data(), text.size());
    if (n != static_cast<ssize_t>(text.size()))
      code = n < 0 ? errno : ENOSPC;
  }
  if (code == 0 && ::rename(temp.c_str(), path.c_str()) != 0)
    code = errno;
  if (code == 0)
    return {};
  std::error_code ignored;
  fs::remove_all(dir, ignored);
  return directory_error(code, "cannot write", path);
}

caf::error data_dir::remove_record(const sandbox_id& id) const {
  std::error_code ec;
  fs::remove_all(root_ / "sandboxes" / id.value, ec);
  return ec ? directory_error(ec.value(), "cannot remove", root_ / "sandboxes" / id.value) : caf::error{};
}

void data_dir::remove_stale(const std::function<void(const std::string&, const std::string&)>& each) const {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{root_ / "sandboxes", ec}) {
    std::ifstream file{entry.path() / "instance.json"};
    const auto record = nlohmann::json::parse(file, nullptr, false);
    std::string instance;
    if (record.is_object() && record.contains("instance") && record["instance"].is_string())
      instance = record["instance"].get<std::string>();
    each(entry.path().filename().string(), instance);
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

} // namespace berth::local
