#include "backends/local/local.hpp"

#include <thread>
#include <unordered_map>

#include "backends/local/client.hpp"
#include "backends/local/data_dir.hpp"
#include "backends/local/isolation.hpp"
#include "messages/log.hpp"

namespace berth {

std::string to_string(isolation_mode x) {
  switch (x) {
  case isolation_mode::automatic:
    return "auto";
  case isolation_mode::bubblewrap:
    return "bubblewrap";
  case isolation_mode::none:
    return "none";
  }
  return "isolation_mode(" + std::to_string(static_cast<int>(x)) + ")";
}

std::string to_string(network_mode x) {
  switch (x) {
  case network_mode::none:
    return "none";
  case network_mode::host:
    return "host";
  }
  return "network_mode(" + std::to_string(static_cast<int>(x)) + ")";
}

namespace local {

/// What a thread of the engine found out about one instance.
struct guest_event {
  enum class kind_type { prepared, ready, ended, stopped };
  kind_type kind = kind_type::ended;
  sandbox_id id;
  instance_id instance;
  caf::error reason;                         ///< of prepared and ready: empty = well
  std::shared_ptr<const mount_table> mounts; ///< of prepared
};

} // namespace local
} // namespace berth

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(berth::local::guest_event)

namespace berth::local {

namespace {

using backend_self = backend_actor::extend_with<actor_of<void(guest_event)>>;

/// What all parts of one backend share. Immutable.
struct setup {
  local_options options;
  isolation chosen;
  std::shared_ptr<const data_dir> dir;
};

struct backend_state {
  static inline const char* name = "local_backend";

  struct record {
    instance what;
    bool alive = false;    ///< its supervisor is ready and not known to have ended
    bool stopping = false; ///< a destroy is under way
    std::shared_ptr<const sandbox_view> view;
    std::uint64_t guest = 0;
    answer<instance> creator;
    std::vector<answer<destroyed>> destroyers;
  };

  std::shared_ptr<const setup> shared;
  std::shared_ptr<engine> loop;
  std::unordered_map<sandbox_id, record> records;

  backend_state() = default;
  backend_state(const backend_state&) = delete;
  backend_state& operator=(const backend_state&) = delete;
  ~backend_state() {
    // A client may keep the engine for a while; the sandboxes end with their backend.
    for (const auto& [id, r] : records) {
      if (r.guest != 0)
        loop->stop_guest(r.guest, [] {});
      [[maybe_unused]] const auto left = shared->dir->remove_record(id); // the next start removes it
    }
  }

  record* find(const sandbox_id& id, const instance_id& instance) {
    const auto i = records.find(id);
    return i != records.end() && i->second.what.instance == instance ? &i->second : nullptr;
  }
};

using self_type = self_ptr<backend_self, backend_state>;

/// How an event comes home: as a message, whatever thread calls.
std::function<void(guest_event)> home(self_type self) {
  return [weak = caf::weak_actor_ptr{self->ctrl()}](guest_event x) {
    if (const auto to = caf::actor_cast<caf::actor>(weak))
      caf::anon_send(to, std::move(x));
  };
}

caf::result<instance> on_create(self_type self, const create_sandbox& x) {
  auto& state = self->state;
  if (x.id.empty() || x.id.value.find('/') != std::string::npos || x.id.value.front() == '.')
    return make_error(errc::invalid_argument, "id '" + printable(x.id.value) + "': must be able to name a folder");
  if (const auto i = state.records.find(x.id); i != state.records.end()) {
    if (i->second.alive || i->second.creator.open() || i->second.stopping)
      return make_error(errc::backend_failure,
                        "a sandbox of the id " + x.id.value + " runs already; destroy it before making another");
    state.records.erase(i); // its supervisor died; the new one takes over its record
  }
  backend_state::record r;
  r.what.id = x.id;
  r.what.instance = {random_uuid()};
  r.what.owner_scope = x.owner_scope;
  r.what.epoch = x.epoch;
  r.what.fleet = state.shared->options.fleet;
  // Unix time, for people and peers; nothing here is decided by it.
  r.what.created_at_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  r.creator = answer<instance>{self};
  const auto& entry = state.records.emplace(x.id, std::move(r)).first->second;
  // Directories and the record first, on a file thread; then the supervisor.
  state.loop->offload([shared = state.shared, what = entry.what, tell = home(self)] {
    guest_event e{guest_event::kind_type::prepared, what.id, what.instance, {}, {}};
    auto mounts = shared->dir->prepare(what.owner_scope);
    if (!mounts)
      e.reason = mounts.error();
    else if (auto failed = shared->dir->write_record(what))
      e.reason = std::move(failed);
    else {
      mounts->insert(mounts->end(), shared->chosen.extra.begin(), shared->chosen.extra.end());
      auto table = mount_table::open_all(std::make_shared<const path_map>(std::move(*mounts)));
      if (table)
        e.mounts = std::move(*table);
      else
        e.reason = table.error();
    }
    tell(std::move(e));
  });
  return entry.creator;
}

void start_guest(self_type self, backend_state::record& r, std::shared_ptr<const mount_table> mounts) {
  auto& state = self->state;
  const auto& chosen = state.shared->chosen;
  auto view = std::make_shared<sandbox_view>();
  view->instance = r.what.instance.value;
  view->isolated = chosen.mode == isolation_mode::bubblewrap;
  view->shell = chosen.shell;
  view->cwd = view->isolated ? "/mnt/user-data/workspace" : mounts->map().to_host("/mnt/user-data/workspace");
  view->env = command_environment(chosen, state.shared->options, mounts->map());
  view->default_timeout = std::chrono::milliseconds{state.shared->options.default_timeout_ms};
  view->mounts = std::move(mounts);
  guest_plan plan;
  plan.instance = view->instance;
  plan.namespaced = view->isolated;
  if (!view->isolated) {
    const auto mark = std::string{mark_name} + "=" + view->instance;
    view->env[mark_name] = view->instance;
    plan.env.push_back(mark);
  }
  std::vector<mount> own;
  for (const auto& m : view->mounts->map().mounts())
    if (!m.read_only)
      own.push_back(m);
  plan.argv = guest_command(chosen, own);
  const auto id = r.what.id;
  const auto instance = r.what.instance;
  const auto tell = home(self);
  plan.on_ready = [id, instance, tell](caf::error reason) {
    tell({guest_event::kind_type::ready, id, instance, std::move(reason), {}});
  };
  plan.on_gone = [id, instance, tell] { tell({guest_event::kind_type::ended, id, instance, {}, {}}); };
  view->guest = r.guest = state.loop->start_guest(std::move(plan));
  r.view = std::move(view);
}

void stop_guest(self_type self, backend_state::record& r) {
  self->state.loop->stop_guest(r.guest, [tell = home(self), id = r.what.id, instance = r.what.instance] {
    tell({guest_event::kind_type::stopped, id, instance, {}, {}});
  });
}

void forget(self_type self, const sandbox_id& id) {
  auto& state = self->state;
  state.records.erase(id);
  if (auto e = state.shared->dir->remove_record(id))
    log::warn("local: the record of a sandbox that has ended stays behind: " + explain(e));
}

void on_event(self_type self, guest_event& x) {
  using kind = guest_event::kind_type;
  auto* r = self->state.find(x.id, x.instance);
  if (r == nullptr)
    return;
  switch (x.kind) {
  case kind::prepared:
    if (!x.reason && !r->stopping)
      return start_guest(self, *r, std::move(x.mounts));
    [[fallthrough]];
  case kind::ready: {
    if (x.kind == kind::ready && !x.reason) {
      r->alive = true;
      r->creator.ok(r->what);
      return;
    }
    r->creator.fail(x.reason ? x.reason : make_error(errc::cancelled, "destroyed while it was made"));
    const auto waiting = std::exchange(r->destroyers, {});
    if (r->guest != 0)
      self->state.loop->stop_guest(r->guest, [] {});
    forget(self, x.id);
    for (const auto& d : waiting)
      d.ok(destroyed{false});
    return;
  }
  case kind::ended:
    r->alive = false;
    if (!r->stopping)
      log::warn("local: sandbox " + x.id.value + " of " + to_text(r->what.owner_scope) + " has died");
    return;
  case kind::stopped: {
    const auto waiting = std::exchange(r->destroyers, {});
    r->creator.fail(make_error(errc::cancelled, "destroyed while it was made"));
    forget(self, x.id);
    for (const auto& d : waiting)
      d.ok(destroyed{true});
    return;
  }
  }
}

caf::result<destroyed> on_destroy(self_type self, const destroy_sandbox& x) {
  auto& state = self->state;
  const auto i = state.records.find(x.id);
  if (i == state.records.end())
    return destroyed{false};
  auto& r = i->second;
  const auto meant = x.instance.empty() ? r.what.epoch == x.epoch : r.what.instance == x.instance;
  if (!meant)
    return destroyed{false}; // a successor lives under this id
  answer<destroyed> promised{self};
  r.destroyers.push_back(promised);
  if (!std::exchange(r.stopping, true) && r.guest != 0)
    stop_guest(self, r);
  return promised;
}

backend_self::behavior_type local_backend(self_type self, std::shared_ptr<const setup> shared,
                                          std::shared_ptr<engine> loop) {
  auto& state = self->state;
  state.shared = std::move(shared);
  state.loop = std::move(loop);
  return {
      [self](const create_sandbox& x) { return on_create(self, x); },
      [&state](const find_sandbox& x) {
        find_answer out;
        if (const auto i = state.records.find(x.id); i != state.records.end() && i->second.alive && !i->second.stopping)
          out.found.push_back(i->second.what);
        return out;
      },
      [&state](list_sandboxes) {
        inventory out;
        out.complete = true;
        for (const auto& [id, r] : state.records)
          if (r.alive)
            out.instances.push_back(r.what);
        return out;
      },
      [&state](const probe_sandbox& x) {
        const auto* r = state.find(x.id, x.instance);
        return probe_answer{r != nullptr && r->alive ? health::alive : health::dead};
      },
      [self](const destroy_sandbox& x) { return on_destroy(self, x); },
      [self](const open_sandbox& x) -> caf::result<client_actor> {
        const auto* r = self->state.find(x.id, x.instance);
        if (r == nullptr || !r->alive || r->stopping)
          return make_error(errc::sandbox_gone, "sandbox " + printable(x.id.value));
        return spawn_client(self->home_system(), self->state.loop, r->view);
      },
      [&state](backend_query) {
        return backend_info{"local", state.shared->chosen.detail, false, true};
      },
      [self](guest_event& x) { on_event(self, x); },
  };
}

} // namespace

} // namespace berth::local

namespace berth {

caf::expected<backend_actor> spawn_local_backend(caf::actor_system& system, local_options options) {
  using namespace local;
  if (options.default_timeout_ms <= 0)
    return make_error(errc::config_invalid, "default command timeout " + std::to_string(options.default_timeout_ms)
                                                + ": must be 1 or more milliseconds");
  auto shared = std::make_shared<setup>();
  auto chosen = choose_isolation(options);
  if (!chosen)
    return chosen.error();
  auto dir = data_dir::open(options.data_dir, options.node.value);
  if (!dir)
    return dir.error();
  (*dir)->remove_stale([](const std::string& id, const std::string& instance) {
    const auto killed = instance.empty() ? 0 : kill_marked(instance);
    log::warn("local: removed what a node that died left of sandbox " + printable(id)
              + (killed > 0 ? ", and ended " + std::to_string(killed) + " of its processes" : ""));
  });
  log::info("local: " + chosen->detail);
  if (chosen->mode == isolation_mode::none)
    log::warn("local: commands are not isolated from this host");
  shared->chosen = std::move(*chosen);
  shared->dir = std::move(*dir);
  shared->options = std::move(options);
  // Its end joins threads. Where the last to let go is one of them, another must do it.
  std::shared_ptr<engine> loop{std::make_unique<engine>().release(), [&system](engine* x) {
                                 if (!x->is_own_thread())
                                   return std::default_delete<engine>{}(x);
                                 system.spawn<caf::detached>([x] { std::default_delete<engine>{}(x); });
                               }};
  return caf::actor_cast<backend_actor>(
      system.spawn(local_backend, std::shared_ptr<const setup>{std::move(shared)}, std::move(loop)));
}

} // namespace berth
