#include "tests/e2e/program.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace berth::e2e {

namespace {

using clock = std::chrono::steady_clock;

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

int file_with(const std::string& text) {
  const auto fd = ::memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error{"cannot prepare standard input"};
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

// A pseudo terminal: our end and the program's.
std::array<int, 2> terminal() {
  const auto ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 128> name{};
  if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0 || ::ptsname_r(ours, name.data(), name.size()) != 0)
    throw std::runtime_error{"cannot make a terminal"};
  return {ours, ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& t : texts)
    result.push_back(t.data());
  result.push_back(nullptr);
  return result;
}

// Where the machine allows no isolated sandboxes, the rest is tested all the same.
const std::string& isolation() {
  static const auto found = [] {
    if (const auto* asked = std::getenv("BERTH_TEST_ISOLATION"))
      return std::string{asked};
    std::string dir = std::filesystem::temp_directory_path() / "berth-probe.XXXXXX";
    if (::mkdtemp(dir.data()) == nullptr)
      throw std::runtime_error{"cannot make a temporary directory"};
    const auto status = program{{BERTH_PROGRAM, "status", "--embedded", "--data-dir", dir}, {}}.wait().status;
    std::filesystem::remove_all(dir);
    return std::string{status == 0 ? "auto" : "none"};
  }();
  return found;
}

} // namespace

program::program(std::vector<std::string> argv, const std::map<std::string, std::string>& env, const std::string& input,
                 err_to where)
    : started_(clock::now()) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || (where == err_to::pipe && ::pipe2(err.data(), O_CLOEXEC) != 0))
    throw std::runtime_error{"cannot make a pipe"};
  if (where == err_to::terminal)
    err = terminal();
  const auto in = file_with(input);
  std::vector<std::string> variables;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry{*e};
    if (!env.contains(entry.substr(0, entry.find('='))))
      variables.push_back(entry);
  }
  for (const auto& [name, value] : env)
    variables.push_back(std::string{name}.append("=").append(value));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t signals;
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  const auto failed =
      ::posix_spawn(&pid_, argv[0].c_str(), &actions, &attributes, pointers(argv).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(in);
  ::close(out[1]);
  ::close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
  if (failed != 0)
    throw std::runtime_error{"cannot start " + argv[0]};
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

program::~program() {
  if (!status_) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const auto fd : {out_fd_, err_fd_, pidfd_})
    if (fd >= 0)
      ::close(fd);
}

void program::signal(int number) const { ::kill(pid_, number); }

void program::close_out() {
  ::close(out_fd_);
  out_fd_ = -1;
}

bool program::read_until(const std::function<bool()>& enough, milliseconds bound) {
  const auto end = clock::now() + bound;
  while (!enough()) {
    const auto left = std::chrono::ceil<milliseconds>(end - clock::now()).count();
    if (left <= 0)
      return false;
    // A descriptor that is through is -1, which poll skips. The end itself is told by the pidfd.
    std::array<pollfd, 3> ready{{{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}, {status_ ? -1 : pidfd_, POLLIN, 0}}};
    if (out_fd_ < 0 && err_fd_ < 0 && status_)
      return enough();
    ::poll(ready.data(), ready.size(), static_cast<int>(left));
    const auto take = [](const pollfd& from, int& fd, std::string& to) {
      if (from.revents == 0)
        return;
      std::array<char, 65536> buffer{};
      const auto n = ::read(fd, buffer.data(), buffer.size());
      if (n > 0)
        to.append(buffer.data(), static_cast<std::size_t>(n));
      else {
        ::close(fd);
        fd = -1;
      }
    };
    take(ready[0], out_fd_, out_);
    take(ready[1], err_fd_, err_);
    if (ready[2].revents != 0) {
      int raw = 0;
      if (::waitpid(pid_, &raw, WNOHANG) == pid_)
        status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    }
  }
  return true;
}

bool program::prints(const std::string& text, milliseconds bound) {
  return read_until([&] { return out_.find(text) != std::string::npos; }, bound);
}

bool program::complains(const std::string& text, milliseconds bound) {
  return read_until([&] { return err_.find(text) != std::string::npos; }, bound);
}

outcome program::wait(milliseconds bound) {
  read_until([&] { return status_ && out_fd_ < 0 && err_fd_ < 0; }, bound);
  return {status_.value_or(-1), out_, err_, std::chrono::duration_cast<milliseconds>(clock::now() - started_)};
}

world::world(const std::string& more_yaml) {
  std::string name = std::filesystem::temp_directory_path() / "berth-e2e.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    throw std::runtime_error{"cannot make a temporary directory"};
  dir_ = name;
  env["BERTH_CONFIG"] = file("berth.yaml", "sandbox: {local: {data_dir: " + data_dir().string() + ", isolation: "
                                               + isolation() + "}}\nnode: {listen: \"127.0.0.1:0\"}\n" + more_yaml);
}

world::~world() {
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

std::unique_ptr<program> world::start(std::vector<std::string> args, const std::string& input,
                                      program::err_to where) const {
  args.insert(args.begin(), BERTH_PROGRAM);
  if (!address_.empty() && std::find(args.begin(), args.end(), "--node") == args.end() && args[1] != "node")
    args.insert(args.begin() + 2, {"--node", address_});
  return std::make_unique<program>(std::move(args), env, input, where);
}

outcome world::berth(std::vector<std::string> args, const std::string& input, milliseconds bound) const {
  return start(std::move(args), input)->wait(bound);
}

outcome world::shell(const std::string& script, milliseconds bound) const {
  return program{{"/bin/sh", "-c", script, BERTH_PROGRAM}, env}.wait(bound);
}

std::unique_ptr<program> world::start_node() {
  auto node = start({"node"});
  const std::string before = "ready on ";
  if (!node->prints(")\n"))
    throw std::runtime_error{"the node did not become ready: " + node->err()};
  const auto at = node->out().find(before) + before.size();
  address_ = node->out().substr(at, node->out().find(' ', at) - at);
  return node;
}

std::filesystem::path world::file(const std::string& name, const std::string& text) const {
  std::ofstream{dir_ / name, std::ios::binary} << text;
  return dir_ / name;
}

std::vector<std::string> world::processes(const std::string& mark) const {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
    const auto pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos)
      continue;
    auto line = slurp(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    const auto holds = [](const std::string& text, const std::string& part) {
      return text.find(part) != std::string::npos;
    };
    if (holds(line, dir_) || holds(slurp(entry.path() / "environ"), dir_) || (!mark.empty() && holds(line, mark)))
      found.push_back(std::string{pid}.append(": ").append(line));
  }
  return found;
}

bool world::nothing_left(const std::string& mark, milliseconds bound) const {
  return eventually([&] { return processes(mark).empty(); }, bound);
}

bool eventually(const std::function<bool()>& condition, milliseconds bound) {
  const auto end = clock::now() + bound;
  while (!condition()) {
    if (clock::now() > end)
      return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

std::string long_sleep() {
  std::random_device source;
  return "sleep 3600." + std::to_string(100'000'000 + source() % 900'000'000);
}

} // namespace berth::e2e
