// berth-guest: the supervisor of one local sandbox. It starts commands for the node, is the parent or the reaper of
// everything they leave behind, and ends with all of it when the node closes the socket, or dies.
//
// With bubblewrap it is process 1 of its own pid namespace: whatever it does not reap itself goes when it goes.
// Without, it is a child subreaper, so a daemon that detaches becomes its child.
//
// Which process may be signalled. A command's group is signalled only while its leader is in `leaders`: from its start
// until we reap it. Until then the leader, alive or a zombie, holds its pid and with it the group id, so neither can be
// reused. A group whose leader was reaped is never signalled again, although background members may live on; when the
// sandbox ends they are reached one by one, as children of ours that are not reaped yet, whose pids cannot be reused
// either.
//
// Single threaded and static: no dependency to load inside the sandbox, nothing to go wrong after a vfork.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "backends/local/guest_protocol.hpp"

namespace {

using namespace berth::guest;

class supervisor {
public:
  explicit supervisor(bool adopts) : adopts_(adopts) {}

  int run() {
    fcntl(socket_fd, F_SETFD, FD_CLOEXEC);
    // The node ignores SIGPIPE and may ignore others; commands start with the defaults.
    for (int s = 1; s < NSIG; ++s)
      signal(s, SIG_DFL);
    sigset_t watched;
    sigemptyset(&watched);
    for (int s : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
      sigaddset(&watched, s);
    sigprocmask(SIG_SETMASK, &watched, nullptr);
    signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0)
      return 1;
    if (adopts_) {
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      // The socket's end of file says the same; this also covers a node that leaked its end to somebody.
      prctl(PR_SET_PDEATHSIG, SIGTERM);
    }
    tell({notice_kind::hello, 0, 0});
    while (!ending_)
      step();
    end_all();
    return 0;
  }

private:
  void step() {
    pollfd set[2] = {{socket_fd, POLLIN, 0}, {signals_, POLLIN, 0}};
    if (poll(set, 2, -1) < 0)
      return;
    if (set[1].revents != 0)
      on_signals();
    if (set[0].revents != 0)
      on_socket();
  }

  void on_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      if (info.ssi_signo != SIGCHLD)
        ending_ = true;
    reap();
  }

  // Learns of a leader's end before it is reaped, so that its entry goes first and its pid can be reused only after.
  void reap() {
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return;
      if (const auto i = leaders_.find(info.si_pid); i != leaders_.end()) {
        const auto exec = i->second;
        pids_.erase(exec);
        leaders_.erase(i);
        tell({info.si_code == CLD_EXITED ? notice_kind::exited : notice_kind::killed, info.si_status, exec});
      }
      waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    }
  }

  void on_socket() {
    request head{};
    std::vector<int> fds;
    iovec parts[2] = {{&head, sizeof head}, {buffer_.data(), buffer_.size()}};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto size = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    for (auto* c = CMSG_FIRSTHDR(&message); size >= 0 && c != nullptr; c = CMSG_NXTHDR(&message, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        fds.resize((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        std::memcpy(fds.data(), CMSG_DATA(c), fds.size() * sizeof(int));
      }
    if (size < static_cast<ssize_t>(sizeof head)) {
      ending_ = true; // the node closed its end, or died
    } else if (head.kind == request_kind::signal) {
      // A stopped or ended leader that is not reaped yet still holds the group's id; see the top of this file.
      if (const auto i = pids_.find(head.exec); i != pids_.end())
        kill(-i->second, head.signal);
    } else {
      spawn(head, fds);
    }
    for (int fd : fds)
      close(fd);
  }

  void spawn(const request& head, const std::vector<int>& fds) {
    if (fds.size() < 2)
      return tell({notice_kind::failed, EPROTO, head.exec});
    char* text = buffer_.data();
    void* mapped = nullptr;
    if (head.in_memfd != 0) {
      mapped = fds.size() < 3 ? MAP_FAILED
                              : mmap(nullptr, head.payload_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[2], 0);
      if (mapped == MAP_FAILED)
        return tell({notice_kind::failed, errno, head.exec});
      text = static_cast<char*>(mapped);
    }
    const auto* const cwd = text;
    mkdir(cwd, 0755); // a command may have removed it: the next one still starts there
    std::vector<char*> argv;
    std::vector<char*> env;
    const auto* const end = text + head.payload_size;
    auto* at = text + std::strlen(text) + 1;
    for (std::uint32_t i = 0; i < head.argc && at < end; ++i, at += std::strlen(at) + 1)
      argv.push_back(at);
    for (std::uint32_t i = 0; i < head.envc && at < end; ++i, at += std::strlen(at) + 1)
      env.push_back(at);
    argv.push_back(nullptr);
    env.push_back(nullptr);
    pid_t pid = -1;
    if (const auto error = start(cwd, argv, env, fds, pid); error != 0) {
      tell({notice_kind::failed, error, head.exec});
    } else {
      leaders_.emplace(pid, head.exec);
      pids_.emplace(head.exec, pid);
    }
    if (mapped != nullptr)
      munmap(mapped, head.payload_size);
  }

  // posix_spawn shares our memory until the exec (vfork semantics) and hands its errno back.
  static int start(const char* cwd, std::vector<char*>& argv, std::vector<char*>& env, const std::vector<int>& fds,
                   pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[0], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    posix_spawn_file_actions_addchdir_np(&actions, cwd);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    const auto error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), env.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }

  static void tell(const notice& x) {
    // Blocking: the node always reads. If it is gone, the end of file follows.
    while (send(socket_fd, &x, sizeof x, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }

  // Kills what is left, level by level: the children of a killed child become ours.
  void end_all() const {
    if (!adopts_)
      return; // the kernel ends the whole pid namespace with its process 1, and waits for it
    for (;;) {
      for (;;) {
        const auto reaped = waitpid(-1, nullptr, WNOHANG);
        if (reaped < 0)
          return;
        if (reaped == 0)
          break;
      }
      kill_children();
      siginfo_t info{};
      waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    }
  }

  // A child of ours that is not reaped keeps its pid, so this never hits a stranger.
  static void kill_children() {
    auto* const proc = opendir("/proc");
    if (proc == nullptr)
      return;
    while (const auto* const entry = readdir(proc)) {
      const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
      if (pid > 1 && parent_of(pid) == getpid())
        kill(pid, SIGKILL);
    }
    closedir(proc);
  }

  static pid_t parent_of(pid_t pid) {
    char text[512];
    std::snprintf(text, sizeof text, "/proc/%d/stat", pid);
    const auto fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return -1;
    const auto size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
      return -1;
    text[size] = '\0';
    const auto* const name_end = std::strrchr(text, ')'); // the name may hold anything
    int parent = -1;
    char state = 0;
    return name_end != nullptr && std::sscanf(name_end + 1, " %c %d", &state, &parent) == 2 ? parent : -1;
  }

  bool adopts_;
  bool ending_ = false;
  int signals_ = -1;
  std::vector<char> buffer_ = std::vector<char>(inline_limit);
  std::unordered_map<pid_t, std::uint64_t> leaders_;
  std::unordered_map<std::uint64_t, pid_t> pids_;
};

} // namespace

int main(int argc, char** argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == check_option)
    return write(STDOUT_FILENO, check_answer, sizeof check_answer - 1) == sizeof check_answer - 1 ? 0 : 1;
  return supervisor{option == adopt_option}.run();
}
