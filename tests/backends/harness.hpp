#pragma once
// A local backend with one sandbox, for tests; every test runs with bubblewrap and without isolation.
#include <filesystem>
#include <future>
#include <optional>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "backends/local/local.hpp"
#include "messages/types.hpp"

namespace berth {
inline std::ostream& operator<<(std::ostream& out, errc x) { return out << to_string(x); }
inline std::ostream& operator<<(std::ostream& out, exit_kind x) { return out << to_string(x); }
inline std::ostream& operator<<(std::ostream& out, health x) { return out << to_string(x); }
inline std::ostream& operator<<(std::ostream& out, isolation_mode x) { return out << to_string(x); }
} // namespace berth

namespace berth::test {

/// A new directory, removed with all in it.
class temp_dir {
public:
  temp_dir();
  ~temp_dir();
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// The two ways to run, for BOOST_DATA_TEST_CASE.
inline const auto both_modes = boost::unit_test::data::make({isolation_mode::bubblewrap, isolation_mode::none});

/// Whether the machine can do `mode`; says so visibly if not.
bool possible(isolation_mode mode);

/// Polls `condition` until it holds or `limit` has passed; the result is whether it holds.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(10));

/// A file below /proc; empty where it, or its process, has gone.
std::string proc_text(const std::string& name);

/// The processes that have `text` among their arguments.
std::vector<int> pids_with(const std::string& text);

/// How many processes of this machine have `text` among their arguments.
int processes_with(const std::string& text);

/// A text that no other process has among its arguments: a number of seconds for `sleep`.
std::string unique_seconds();

/// Settings of a backend on `data`.
local_options options_for(isolation_mode mode, const std::filesystem::path& data);

/// An actor system that speaks berth.
struct test_config : caf::actor_system_config {
  test_config();
};

/// Of the actor that asks for a test: an actor of berth, so that ThreadSanitizer follows what passes through it.
struct asker_state {
  static inline const char* name = "asker";
  asker_state() = default;
};

/// A backend, one sandbox in it, and a client. Checks at its end that no process and no record is left.
class sandbox {
public:
  explicit sandbox(isolation_mode mode, const std::function<void(local_options&)>& adjust = {});
  ~sandbox();
  sandbox(const sandbox&) = delete;
  sandbox& operator=(const sandbox&) = delete;

  /// Asks; the answer, or a time-out after a minute, comes as a future.
  template <class T, class Handle, class Request>
  std::future<caf::expected<T>> ask_later(const Handle& to, Request request) {
    auto out = std::make_shared<std::promise<caf::expected<T>>>();
    auto answer = out->get_future();
    system.spawn([out, to, request](untyped_self_ptr<asker_state> self) {
      // The bound of a request keeps an actor until it has passed, also after the answer.
      berth::ask(
          self, to, std::chrono::seconds(60), request,
          [self, out](T& x) {
            out->set_value(std::move(x));
            self->quit();
          },
          [self, out](caf::error& e) {
            out->set_value(std::move(e));
            self->quit();
          });
    });
    return answer;
  }

  /// Asks and waits.
  template <class T, class Handle, class Request>
  caf::expected<T> ask(const Handle& to, Request request) {
    return ask_later<T>(to, std::move(request)).get();
  }

  /// Starts a command.
  std::future<caf::expected<executed>> start(execute x) { return ask_later<executed>(client, std::move(x)); }

  /// Runs a command; no answer is a failed test.
  executed run(const std::string& command, std::optional<std::int64_t> timeout_ms = {});
  caf::expected<executed> try_run(execute x) { return ask<executed>(client, std::move(x)); }

  caf::expected<file_content> read(const std::string& path) {
    return ask<file_content>(client, read_file{path, {}, {}});
  }
  caf::expected<file_written> write(const std::string& path, const std::string& text, bool append = false) {
    return ask<file_written>(client, write_file{path, {text}, append});
  }
  caf::expected<dir_listing> list(const std::string& path, std::int32_t depth = 2) {
    return ask<dir_listing>(client, list_dir{path, depth});
  }

  /// Makes a sandbox.
  caf::expected<instance> create(const sandbox_id& id, std::uint64_t epoch = 1);
  caf::expected<destroyed> destroy(const instance& x);

  /// The host directory behind /mnt/user-data.
  [[nodiscard]] std::filesystem::path user_data() const;

  temp_dir data;
  test_config config;
  caf::actor_system system{config};
  backend_actor backend;
  instance made;
  client_actor client;
};

/// Milliseconds since it was made.
class stopwatch {
public:
  [[nodiscard]] std::int64_t ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace berth::test

/// Runs the rest of the case only where the machine can do `sample`.
#define BERTH_NEEDS(mode)                                                                                              \
  if (!::berth::test::possible(mode))                                                                                  \
  return
