#include "harness.hpp"

#include <atomic>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace berth::test {

namespace fs = std::filesystem;

temp_dir::temp_dir() {
  std::string pattern = (fs::temp_directory_path() / "berth-test-XXXXXX").string();
  BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

temp_dir::~temp_dir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

std::vector<int> pids_with(const std::string& text) {
  std::vector<int> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{"/proc", ec}) {
    const auto name = entry.path().filename().string();
    if (name.front() >= '0' && name.front() <= '9' && proc_text(name + "/cmdline").find(text) != std::string::npos)
      out.push_back(std::stoi(name));
  }
  return out;
}

int processes_with(const std::string& text) { return static_cast<int>(pids_with(text).size()); }

std::string proc_text(const std::string& name) {
  std::string out;
  const auto fd = ::open(("/proc/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  char piece[4096];
  for (ssize_t n = 0; fd >= 0 && (n = ::read(fd, piece, sizeof piece)) > 0;) // a process that has ended has no text
    out.append(piece, static_cast<std::size_t>(n));
  if (fd >= 0)
    ::close(fd);
  return out;
}

std::string unique_seconds() {
  static std::atomic<int> next{0};
  return "6" + std::to_string(::getpid()) + std::to_string(100 + ++next);
}

local_options options_for(isolation_mode mode, const fs::path& data) {
  local_options x;
  x.data_dir = data;
  x.fleet = "test";
  x.node = {"test-node"};
  x.isolation = mode;
  x.base_environment = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"LANG", "C.UTF-8"}};
  return x;
}

test_config::test_config() {
  add_messages(*this);
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
  set("scheduler.max-throughput", std::size_t{100});
}

bool possible(isolation_mode mode) {
  if (mode == isolation_mode::none)
    return true;
  static const auto why = [] {
    temp_dir data;
    test_config config;
    caf::actor_system system{config};
    auto backend = spawn_local_backend(system, options_for(isolation_mode::bubblewrap, data.path()));
    if (!backend)
      return explain(backend.error());
    caf::anon_send_exit(*backend, caf::exit_reason::user_shutdown);
    return std::string{};
  }();
  if (!why.empty())
    BOOST_TEST_MESSAGE("SKIPPED with bubblewrap: " << why);
  return why.empty();
}

sandbox::sandbox(isolation_mode mode, const std::function<void(local_options&)>& adjust) {
  auto options = options_for(mode, data.path());
  if (adjust)
    adjust(options);
  auto spawned = spawn_local_backend(system, options);
  BOOST_REQUIRE_MESSAGE(spawned, explain(spawned.error()));
  backend = *spawned;
  auto created = create({"0123456789abcdef"});
  BOOST_REQUIRE_MESSAGE(created, explain(created.error()));
  made = *created;
  auto opened = ask<client_actor>(backend, open_sandbox{made.id, made.instance});
  BOOST_REQUIRE_MESSAGE(opened, explain(opened.error()));
  client = *opened;
}

sandbox::~sandbox() {
  if (client)
    BOOST_CHECK(destroy(made));
  caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(backend, caf::exit_reason::user_shutdown);
  BOOST_CHECK(fs::is_empty(data.path() / "sandboxes"));
  // The data directory's name is among a bubblewrap's arguments, and a command's.
  BOOST_CHECK(eventually([&] { return processes_with(data.path().string()) == 0; }));
}

executed sandbox::run(const std::string& command, std::optional<std::int64_t> timeout_ms) {
  execute x;
  x.command = command;
  if (timeout_ms)
    x.timeout_ms = *timeout_ms;
  auto answer = try_run(std::move(x));
  BOOST_REQUIRE_MESSAGE(answer, command << ": " << explain(answer.error()));
  return std::move(*answer);
}

caf::expected<instance> sandbox::create(const sandbox_id& id, std::uint64_t epoch) {
  return ask<instance>(backend, create_sandbox{id, {"ann", "t1"}, {epoch}});
}

caf::expected<destroyed> sandbox::destroy(const instance& x) {
  return ask<destroyed>(backend, destroy_sandbox{x.id, x.instance, x.epoch});
}

fs::path sandbox::user_data() const { return data.path() / "users/ann/threads/t1/user-data"; }

} // namespace berth::test
