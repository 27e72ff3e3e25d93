#include "backends/local/isolation.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/local/guest_protocol.hpp"
#include "backends/local/mounts.hpp"
#include "backends/local/unique_fd.hpp"
#include "messages/errors.hpp"

namespace berth::local {

namespace {

namespace fs = std::filesystem;

constexpr char guest_name[] = "berth-guest";
constexpr char guest_inside[] = "/run/berth/guest";
constexpr char home_inside[] = "/mnt/user-data/workspace";

bool is_program(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0;
}

fs::path find_on_path(const fs::path& name) {
  if (name.has_parent_path())
    return is_program(name) ? fs::absolute(name) : fs::path{};
  const auto* const variable = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): at start only
  std::string_view list = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!list.empty()) {
    const auto end = std::min(list.find(':'), list.size());
    fs::path candidate = fs::path{list.substr(0, end)} / name;
    if (candidate.is_absolute() && is_program(candidate))
      return candidate;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

caf::expected<std::string> find_guest(const fs::path& wanted) {
  std::error_code ec;
  std::vector<fs::path> candidates;
  if (!wanted.empty())
    candidates.push_back(fs::absolute(wanted, ec));
  else
    candidates = {fs::read_symlink("/proc/self/exe", ec).parent_path() / guest_name,
                  fs::path{BERTH_LIBEXEC_DIR} / guest_name};
  for (const auto& candidate : candidates)
    if (is_program(candidate))
      return fs::canonical(candidate, ec).string();
  return make_error(errc::command_not_found, "the supervisor program '" + candidates.front().string()
                                                 + "' is missing; install berth completely, or name it");
}

caf::expected<std::string> find_shell() {
  for (const auto* shell : {"/bin/zsh", "/bin/bash", "/bin/sh"})
    if (is_program(shell))
      return std::string{shell};
  if (const auto found = find_on_path("sh"); !found.empty())
    return found.string();
  return make_error(errc::command_not_found, "no shell: looked for /bin/zsh, /bin/bash, /bin/sh, and sh on PATH");
}

/// What of the host a command needs to run at all. Never a home, and not the rest of /etc.
void add_system(std::vector<std::string>& argv, network_mode network) {
  const auto add = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  add({"--ro-bind", "/usr", "/usr"});
  for (const std::string dir : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code ec;
    if (fs::is_symlink(dir, ec))
      add({"--symlink", fs::read_symlink(dir, ec).string(), dir});
    else
      add({"--ro-bind-try", dir, dir});
  }
  for (const std::string file :
       {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group",
        "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone", "/etc/mime.types",
        "/etc/magic", "/etc/protocols", "/etc/services", "/etc/profile", "/etc/bash.bashrc", "/etc/fonts"})
    add({"--ro-bind-try", file, file});
  if (network == network_mode::host)
    for (const std::string file : {"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf"})
      add({"--ro-bind-try", file, file});
}

/// A command that runs as the host's uid 0 owns the kernel's settings in /proc, and the kernel asks for no more than
/// that before it lets them be written; bubblewrap 0.8 covers them only where it may not write them itself. What they
/// show is of the namespaces of who reads, so a mount of the host's is as good as the sandbox's own.
void add_proc_covers(std::vector<std::string>& argv) {
  const auto add = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  add({"--ro-bind", "/proc/sys", "/proc/sys"});
  for (const std::string path : {"/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi",
                                 "/proc/scsi", "/proc/mtrr", "/proc/pressure"})
    add({"--ro-bind-try", path, path});
  // What tells of the host's memory, keys and processes: a device on a mount without devices cannot even be opened.
  for (const std::string path :
       {"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats",
        "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup"}) {
    std::error_code ec;
    if (fs::exists(path, ec)) // a place for a mount cannot be made in there
      add({"--ro-bind", "/dev/null", path});
  }
}

/// Starts the supervisor's check, with whatever is around it, and waits for ten seconds. Empty = it answered; else why
/// not.
std::string try_guest(std::vector<std::string> argv) {
  argv.emplace_back(guest::check_option);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return std::strerror(errno);
  unique_fd read_end{pipe[0]};
  unique_fd write_end{pipe[1]};
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (auto& word : argv)
    words.push_back(word.data());
  words.push_back(nullptr);
  char* no_env[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  pid_t pid = -1;
  const auto code = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), no_env);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return std::strerror(code);
  write_end.reset();
  const unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  pollfd ended{process.get(), POLLIN, 0};
  const auto in_time = process && ::poll(&ended, 1, 10'000) == 1;
  if (!in_time)
    ::kill(pid, SIGKILL); // our unreaped child: the pid is its own
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!in_time)
    return "it did not answer within 10 seconds";
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  std::string text(500, '\0');
  const auto n = ::read(read_end.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return text.find(guest::check_answer) != std::string::npos ? "" : "it ended without starting berth's supervisor";
  if (const auto line = text.find('\n'); line != std::string::npos)
    text.resize(line);
  return text.empty() ? "it ended with status " + std::to_string(status) : text;
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// Refuses a bind that would hide what a sandbox is made of, or show it what is not its own.
caf::error check_bind(const fs::path& bind, const fs::path& host, const fs::path& data_dir) {
  std::error_code ec;
  const auto data = fs::weakly_canonical(fs::absolute(data_dir, ec), ec);
  const fs::path asked{tidy(bind.lexically_normal().string())};
  for (const auto& path : {asked, host})
    for (const auto& taken : {fs::path{"/proc"}, fs::path{"/dev"}, fs::path{"/sys"}, fs::path{"/run/berth"},
                              fs::path{"/mnt/user-data"}, fs::path{"/mnt/acp-workspace"}, data})
      if (!taken.empty() && (is_within(path, taken) || is_within(taken, path)))
        return make_error(errc::config_invalid,
                          "bind '" + bind.string() + "' is not allowed: it is, holds or lies below '" + taken.string()
                              + "'; not allowed are /, /proc, /dev, /sys, /run/berth, /mnt/user-data, "
                                "/mnt/acp-workspace and the data directory, nor what holds them or lies below");
  return {};
}

/// What the backend stands on whatever the isolation.
caf::error check_kernel() {
  const unique_fd file{open_beneath(AT_FDCWD, ".", O_PATH)};
  const auto no_openat2 = !file && (errno == ENOSYS || errno == EPERM);
  const unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  if (no_openat2 || !process)
    return make_error(errc::unsupported, std::string{"the kernel, or a filter around this process, does not allow "}
                                             + (no_openat2 ? "openat2" : "pidfd_open")
                                             + "; Linux 5.6 or newer is needed");
  return {};
}

} // namespace

std::vector<std::string> guest_command(const isolation& x, const std::vector<mount>& mounts) {
  if (x.mode == isolation_mode::none)
    return {x.guest, guest::adopt_option};
  std::vector<std::string> argv{x.bwrap,
                                "--unshare-user-try",
                                "--unshare-pid",
                                "--unshare-ipc",
                                "--unshare-uts",
                                "--unshare-cgroup-try",
                                "--die-with-parent",
                                "--as-pid-1",
                                "--cap-drop",
                                "ALL",
                                "--clearenv"};
  const auto add = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  if (x.network == network_mode::none)
    add({"--unshare-net"});
  add_system(argv, x.network);
  add({"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"});
  add_proc_covers(argv);
  add({"--ro-bind", x.guest, guest_inside});
  for (const auto& m : x.extra)
    add({"--ro-bind", m.host_root, m.virtual_root});
  for (const auto& m : mounts)
    add({"--bind", m.host_root, m.virtual_root});
  add({"--remount-ro", "/", "--chdir", "/", "--", guest_inside});
  return argv;
}

std::map<std::string, std::string> command_environment(const isolation& x, const local_options& options,
                                                       const path_map& map) {
  auto env = options.base_environment;
  for (const auto& [name, value] : options.environment)
    env[name] = value;
  env.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (x.mode == isolation_mode::bubblewrap) {
    // The host's places do not exist in there.
    for (const auto* name : {"TMPDIR", "PWD", "OLDPWD", "XDG_RUNTIME_DIR"})
      env.erase(name);
    env["HOME"] = home_inside;
    env["SHELL"] = x.shell;
  }
  env["PWD"] = x.mode == isolation_mode::bubblewrap ? home_inside : map.to_host(home_inside);
  return env;
}

caf::expected<isolation> choose_isolation(const local_options& options) {
  isolation out;
  out.network = options.network;
  if (auto e = check_kernel())
    return e;
  auto guest = find_guest(options.guest);
  if (!guest)
    return guest.error();
  out.guest = *guest;
  if (const auto wrong = try_guest({out.guest}); !wrong.empty())
    return make_error(errc::config_invalid, "guest '" + out.guest
                                                + "' is not berth's supervisor, or does not run here (" + wrong
                                                + "); name the program berth-guest of this version, or leave it out");
  auto shell = find_shell();
  if (!shell)
    return shell.error();
  out.shell = *shell;
  for (const auto& bind : options.extra_binds) {
    std::error_code ec;
    const auto host = fs::canonical(bind, ec);
    if (!bind.is_absolute() || ec)
      return make_error(errc::config_invalid,
                        "bind '" + bind.string() + "': must be the absolute path of an existing directory");
    if (!fs::is_directory(host, ec))
      return make_error(errc::config_invalid, "bind '" + bind.string() + "' is not a directory");
    if (auto e = check_bind(bind, host, options.data_dir))
      return e;
    out.extra.push_back({tidy(bind.string()), host.string(), true});
  }
  if (options.isolation == isolation_mode::none) {
    out.detail = "no isolation (asked for): commands are plain processes of this user, with the network and the files "
                 "that it has; shell "
                 + out.shell;
    return out;
  }
  std::string why;
  if (const auto found = find_on_path(options.bwrap); found.empty()) {
    why = "the program '" + options.bwrap.string() + "' was not found";
  } else {
    out.mode = isolation_mode::bubblewrap;
    out.bwrap = found.string();
    why = try_guest(guest_command(out, {}));
  }
  if (why.empty()) {
    out.detail = std::string{"isolated by bubblewrap ("}
                 + (options.isolation == isolation_mode::automatic ? "it works on this machine" : "asked for") + "; "
                 + (out.network == network_mode::none ? "no network" : "the host's network") + "); shell " + out.shell;
    return out;
  }
  return make_error(errc::unsupported,
                    "commands cannot be isolated on this machine: bubblewrap does not work here (" + why
                        + "). Install the package bubblewrap; allow user namespaces (sysctl "
                          "kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0; in a container, allow "
                          "unshare and mount); or give up isolation by name: `isolation: none`");
}

} // namespace berth::local
