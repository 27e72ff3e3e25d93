#include "backends/local/client.hpp"

#include <set>
#include <unordered_map>
#include <variant>

#include "backends/local/files.hpp"

namespace berth::local {

/// What a thread of the engine found out, on its way to the actor that promised it.
struct outcome {
  using value = std::variant<executed, file_content, file_written, dir_listing, commands_stopped>;
  std::uint64_t number = 0;
  std::shared_ptr<caf::expected<value>> result;
};

} // namespace berth::local

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(berth::local::outcome)

namespace berth::local {

namespace {

using client_self = client_actor::extend_with<actor_of<void(outcome)>>;
/// The owner may ask for what it wants of the kind; the view says what the client is for.
using promise = std::variant<answer<executed>, answer<file_content>, answer<file_written>, answer<dir_listing>,
                             answer<commands_stopped>>;

bool is_name(std::string_view x) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !x.empty() && letter(x.front())
         && std::all_of(x.begin(), x.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

struct client_state {
  static inline const char* name = "local_client";

  struct running {
    exec_id id;
    std::string command;
    caf::actor_clock::time_point since;
  };

  std::shared_ptr<engine> loop;
  std::shared_ptr<const sandbox_view> view;
  std::unordered_map<std::uint64_t, promise> open;
  std::map<std::uint64_t, running> commands; ///< in the order of their start
  std::set<std::string> written;             ///< by write_file: what read_file translates back (spec R6)
  caf::strong_actor_ptr self_while_busy;     ///< somebody waits for an answer: an owner that let go does not end us

  client_state() = default;
  client_state(const client_state&) = delete;
  client_state& operator=(const client_state&) = delete;
  ~client_state() {
    // Nobody can be told what they print any more.
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, command] : commands)
      numbers.push_back(number);
    if (loop && !numbers.empty())
      loop->stop_commands(view->guest, std::move(numbers), std::chrono::milliseconds{0}, [](std::int32_t) {});
  }
};

using self_type = self_ptr<client_self, client_state>;

/// Keeps the promise under a number and returns how its result comes home: as a message, whatever thread calls.
template <class T>
std::function<void(caf::expected<outcome::value>)> expect(self_type self, std::uint64_t number, answer<T> promised) {
  auto& state = self->state;
  state.open.emplace(number, std::move(promised));
  if (!state.self_while_busy)
    state.self_while_busy = caf::strong_actor_ptr{self->ctrl()};
  return [weak = caf::weak_actor_ptr{self->ctrl()}, number](caf::expected<outcome::value> x) {
    if (const auto to = caf::actor_cast<caf::actor>(weak))
      caf::anon_send(to, outcome{number, std::make_shared<caf::expected<outcome::value>>(std::move(x))});
  };
}

void on_outcome(self_type self, outcome& x) {
  auto& state = self->state;
  state.commands.erase(x.number);
  const auto i = state.open.find(x.number);
  if (i == state.open.end())
    return;
  const auto promised = std::move(i->second);
  state.open.erase(i);
  std::visit(
      [&](const auto& p) {
        using type = std::decay_t<decltype(p)>;
        if (!*x.result)
          p.fail(x.result->error());
        else
          std::visit(
              [&](auto& value) {
                if constexpr (std::is_same_v<type, answer<std::decay_t<decltype(value)>>>)
                  p.ok(std::move(value));
              },
              **x.result);
      },
      promised);
  if (state.open.empty())
    state.self_while_busy = nullptr;
}

caf::result<executed> on_execute(self_type self, execute& x) {
  auto& state = self->state;
  const auto& view = *state.view;
  if (auto e = validate(x))
    return e;
  const auto number = state.loop->next_number();
  if (x.id.empty())
    x.id.value = view.instance.substr(0, 8) + "-" + std::to_string(number);
  for (const auto& [other, running] : state.commands)
    if (running.id == x.id)
      return make_error(errc::invalid_argument, "id '" + printable(x.id.value) + "': a command of this id is running");
  command_plan plan;
  plan.guest = view.guest;
  plan.number = number;
  plan.cwd = view.cwd;
  plan.timeout = x.timeout_ms ? std::chrono::milliseconds{*x.timeout_ms} : view.default_timeout;
  plan.cap = x.output_cap.value_or(default_output_cap);
  auto text = x.command;
  if (!view.isolated) {
    const auto& map = view.mounts->map();
    for (const auto& path : map.paths_in_command(text))
      if (auto e = view.mounts->check(path))
        return e;
    text = map.command_to_host(text);
    plan.translation = std::shared_ptr<const path_map>{view.mounts, &map};
  }
  plan.argv = {view.shell, "-c", std::move(text)};
  auto env = view.env;
  for (auto& [name, value] : x.env.values)
    env[name] = std::move(value);
  for (const auto& [name, value] : env)
    plan.env.emplace_back(name).append("=").append(value);
  if (x.subscriber)
    plan.on_output = [to = x.subscriber, id = x.id](stream from, std::int64_t offset, std::string data) {
      caf::anon_send(to, output_chunk{id, from, offset, {std::move(data)}});
    };
  answer<executed> promised{self};
  plan.on_done = [id = x.id, home = expect(self, number, promised)](caf::expected<executed> done) {
    if (!done)
      return home(done.error());
    done->id = id;
    home(outcome::value{std::move(*done)});
  };
  state.commands.emplace(number, client_state::running{x.id, x.command.substr(0, 200), self->clock().now()});
  state.loop->run(std::move(plan));
  return promised;
}

/// Runs `work` on a file thread; what it returns is the answer.
template <class T, class Work>
caf::result<T> offload(self_type self, Work work) {
  auto& state = self->state;
  answer<T> promised{self};
  state.loop->offload(
      [home = expect(self, state.loop->next_number(), promised), mounts = state.view->mounts, work = std::move(work)] {
        caf::expected<T> x = work(*mounts);
        if (x)
          home(outcome::value{std::move(*x)});
        else
          home(x.error());
      });
  return promised;
}

caf::result<commands_stopped> on_stop(self_type self, const stop_commands& x) {
  auto& state = self->state;
  if (x.grace_ms < 0)
    return make_error(errc::invalid_argument, "grace_ms " + std::to_string(x.grace_ms) + ": must be 0 or more");
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, command] : state.commands)
    if (x.id.empty() || x.id == command.id)
      numbers.push_back(number);
  answer<commands_stopped> promised{self};
  state.loop->stop_commands(state.view->guest, std::move(numbers), std::chrono::milliseconds{x.grace_ms},
                            [home = expect(self, state.loop->next_number(), promised)](std::int32_t count) {
                              home(outcome::value{commands_stopped{count}});
                            });
  return promised;
}

command_list on_list(self_type self) {
  command_list out;
  const auto now = self->clock().now();
  for (const auto& [number, x] : self->state.commands)
    out.commands.push_back(
        {x.id, x.command, std::chrono::duration_cast<std::chrono::milliseconds>(now - x.since).count()});
  return out;
}

client_self::behavior_type local_client(self_type self, std::shared_ptr<engine> loop,
                                        std::shared_ptr<const sandbox_view> view) {
  auto& state = self->state;
  state.loop = std::move(loop);
  state.view = std::move(view);
  return {
      [self](execute& x) { return on_execute(self, x); },
      [self](read_file& x) -> caf::result<file_content> {
        const auto ours = !self->state.view->isolated && self->state.written.contains(tidy(x.path));
        return offload<file_content>(self, [x = std::move(x), ours](const auto& m) { return read_text(m, x, ours); });
      },
      [self](write_file& x) -> caf::result<file_written> {
        const auto translate = !self->state.view->isolated;
        if (translate)
          self->state.written.insert(tidy(x.path));
        return offload<file_written>(
            self, [x = std::move(x), translate](const auto& m) { return write_text(m, x, translate); });
      },
      [self](update_file& x) -> caf::result<file_written> {
        return offload<file_written>(self, [x = std::move(x)](const auto& m) { return write_bytes(m, x); });
      },
      [self](download_file& x) -> caf::result<file_content> {
        return offload<file_content>(self, [x = std::move(x)](const auto& m) { return read_bytes(m, x); });
      },
      [self](list_dir& x) -> caf::result<dir_listing> {
        return offload<dir_listing>(self, [x = std::move(x)](const auto& m) { return list_tree(m, x); });
      },
      [](const glob_files&) -> caf::result<glob_answer> {
        return make_error(errc::unsupported, "glob_files: the local backend cannot search by pattern yet");
      },
      [](const grep_files&) -> caf::result<grep_answer> {
        return make_error(errc::unsupported, "grep_files: the local backend cannot search in files yet");
      },
      [self](const stop_commands& x) { return on_stop(self, x); },
      [self](list_commands) { return on_list(self); },
      [self](outcome& x) { on_outcome(self, x); },
  };
}

} // namespace

caf::error validate(const execute& x) {
  if (x.command.empty())
    return make_error(errc::invalid_argument, "command: is empty");
  if (x.command.find('\0') != std::string::npos)
    return make_error(errc::invalid_argument, "command: holds a NUL byte");
  if (x.timeout_ms && *x.timeout_ms <= 0)
    return make_error(errc::invalid_argument,
                      "timeout_ms " + std::to_string(*x.timeout_ms) + ": must be 1 or more milliseconds");
  if (x.timeout_ms && *x.timeout_ms > 365LL * 24 * 3600 * 1000)
    return make_error(errc::invalid_argument,
                      "timeout_ms " + std::to_string(*x.timeout_ms) + ": must not exceed a year (31536000000)");
  if (x.output_cap && *x.output_cap < 0)
    return make_error(errc::invalid_argument,
                      "output_cap " + std::to_string(*x.output_cap) + ": must be 0 or more bytes");
  for (const auto& [name, value] : x.env.values) {
    if (!is_name(name))
      return make_error(errc::invalid_argument,
                        "env name '" + printable(name) + "': must match ^[A-Za-z_][A-Za-z0-9_]*$");
    if (value.find('\0') != std::string::npos)
      return make_error(errc::invalid_argument, "env " + name + ": its value holds a NUL byte");
  }
  return {};
}

client_actor spawn_client(caf::actor_system& system, std::shared_ptr<engine> loop,
                          std::shared_ptr<const sandbox_view> view) {
  return caf::actor_cast<client_actor>(system.spawn(local_client, std::move(loop), std::move(view)));
}

} // namespace berth::local
