// acquire, release, destroy, list and status: the life of sandboxes on a node.
#include "tools/berth/output.hpp"
#include "tools/berth/progress.hpp"
#include "tools/berth/workplace.hpp"

namespace berth::cli {

namespace {

// Opens a session for a sandbox that only a running node can know.
caf::expected<std::unique_ptr<session>> open_for_known(const context& c) {
  auto link = session::open(c.settings, c.opts, c.events);
  if (link && (*link)->embedded())
    return make_error(errc::sandbox_unknown, c.opts.who.text() + ": " + (*link)->why_embedded()
                                                 + ", so there is no sandbox; start one with 'berth node'");
  return link;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text + "  ";
}

std::string table(const std::vector<sandbox_status>& sandboxes) {
  std::size_t widest = 5;
  for (const auto& s : sandboxes)
    widest = std::max(widest, to_text(s.owner_scope).size());
  const auto row = [&](const std::string& id, const std::string& owner, const std::string& state,
                       const std::string& running, const std::string& idle) {
    return padded(id, 16) + padded(owner, widest) + padded(state, 7) + padded(running, 7) + idle + "\n";
  };
  auto text = row("ID", "SCOPE", "STATE", "RUNNING", "IDLE");
  for (const auto& s : sandboxes)
    text += row(s.id.value, s.owner_scope.user.empty() ? "?" : to_text(s.owner_scope), to_string(s.state),
                std::to_string(s.operations), human_time(s.idle_ms));
  return text;
}

nlohmann::ordered_json to_json(const sandbox_status& s) {
  return {{"id", s.id.value},
          {"scope", to_text(s.owner_scope)},
          {"state", to_string(s.state)},
          {"instance", s.instance.value},
          {"epoch", s.epoch.value},
          {"operations", s.operations},
          {"waiting", s.waiting},
          {"idle_ms", s.idle_ms},
          {"state_age_ms", s.state_age_ms}};
}

} // namespace

int acquire(const context& c) {
  auto link = session::open(c.settings, c.opts, c.events);
  if (!link)
    return fail(c, link.error());
  auto lease = [&] {
    const progress shown{"acquiring the sandbox of " + c.opts.who.text()};
    return (*link)->call<acquired>((*link)->provider(), acquire_bound(c.settings), acquire_sandbox{*c.opts.who.owner},
                                   on_signal::keep_waiting);
  }();
  if (!lease)
    return fail(c, lease.error());
  if ((*link)->embedded())
    print_note((*link)->why_embedded()
               + ": the sandbox ends with this command; start a node with 'berth node' to keep it");
  if (c.opts.json)
    return print_json({{"id", lease->id.value},
                       {"scope", to_text(lease->owner_scope)},
                       {"origin", to_string(lease->origin)},
                       {"instance", lease->instance.value},
                       {"epoch", lease->epoch.value},
                       {"embedded", (*link)->embedded()}});
  return print_text(lease->id.value + "  " + to_text(lease->owner_scope) + "  " + to_string(lease->origin) + "\n");
}

int release(const context& c) {
  auto link = open_for_known(c);
  if (!link)
    return fail(c, link.error());
  const auto done = [&] {
    const progress shown{"releasing " + c.opts.who.text()};
    return (*link)->call<released>((*link)->provider(), release_bound(c.settings), release_sandbox{c.opts.who.id});
  }();
  if (!done)
    return fail(c, done.error());
  if (c.opts.json)
    return print_json(
        {{"id", c.opts.who.id.value}, {"state", to_string(done->state)}, {"interrupted", done->interrupted}});
  return print_text(
      c.opts.who.id.value + "  " + to_string(done->state)
      + (done->interrupted > 0 ? "  " + std::to_string(done->interrupted) + " interrupted" : std::string{}) + "\n");
}

int destroy(const context& c) {
  auto link = open_for_known(c);
  if (!link)
    return fail(c, link.error());
  const auto done = [&] {
    const progress shown{"destroying " + c.opts.who.text()};
    const auto bound = c.settings.sandbox.stop_timeout + short_bound;
    return (*link)->call<close_answer>((*link)->provider(), bound,
                                       close_sandbox{c.opts.who.id, close_reason::requested});
  }();
  if (!done)
    return fail(c, done.error());
  switch (done->outcome) {
  case close_outcome::closed:
    break;
  case close_outcome::refused:
    return fail(c, make_error(errc::lease_lost, c.opts.who.text() + ": nothing was touched"));
  case close_outcome::failed:
    return fail(c, make_error(errc::backend_failure, c.opts.who.text() + ": the stop failed; the node keeps trying"));
  case close_outcome::unknown_id:
    return fail(c, make_error(errc::sandbox_unknown, c.opts.who.text() + ": see 'berth list'"));
  }
  if (c.opts.json)
    return print_json({{"id", c.opts.who.id.value}, {"outcome", to_string(done->outcome)}});
  return print_text(c.opts.who.id.value + "  " + to_string(done->outcome) + "\n");
}

int list(const context& c) {
  auto link = session::open(c.settings, c.opts, c.events);
  if (!link)
    return fail(c, link.error());
  const auto tracked = (*link)->call<tracked_list>((*link)->provider(), short_bound, list_tracked{});
  if (!tracked)
    return fail(c, tracked.error());
  if (c.opts.json) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& s : tracked->sandboxes)
      rows.push_back(to_json(s));
    return print_json({{"sandboxes", rows}, {"embedded", (*link)->embedded()}});
  }
  if ((*link)->embedded())
    print_note((*link)->why_embedded() + ", so there are no sandboxes");
  return print_text(table(tracked->sandboxes));
}

int status(const context& c) {
  auto link = session::open(c.settings, c.opts, c.events);
  if (!link)
    return fail(c, link.error());
  const auto s = (*link)->call<node_status>((*link)->provider(), short_bound, query_node{});
  if (!s)
    return fail(c, s.error());
  if (c.opts.json) {
    return print_json({{"node", s->node.value},
                       {"version", s->version},
                       {"embedded", (*link)->embedded()},
                       {"address", (*link)->embedded() ? std::string{} : (*link)->address()},
                       {"uptime_ms", s->uptime_ms},
                       {"backend", {{"kind", s->backend.kind}, {"detail", s->backend.detail}}},
                       {"store",
                        {{"name", s->store.name},
                         {"supports_cross_process", s->store.supports_cross_process},
                         {"lease_time_ms", s->store.lease_time_ms}}},
                       {"tracked", s->tracked},
                       {"parked", s->parked},
                       {"slots", s->slots},
                       {"slots_used", s->slots_used},
                       {"waiting", s->waiting}});
  }
  const auto where =
      (*link)->embedded() ? "embedded in this command; " + (*link)->why_embedded() : "listens on " + (*link)->address();
  return print_text("node:     " + s->node.value + "\n          " + where + "\nversion:  " + s->version
                    + "\nuptime:   " + human_time(s->uptime_ms) + "\nbackend:  " + s->backend.kind + ": "
                    + s->backend.detail + "\nstore:    " + s->store.name + ", lease time "
                    + human_time(s->store.lease_time_ms) + (s->store.supports_cross_process ? "" : ", this node only")
                    + "\nslots:    " + std::to_string(s->slots_used) + " of " + std::to_string(s->slots) + " used, "
                    + std::to_string(s->parked) + " parked, " + std::to_string(s->waiting) + " waiting\n");
}

} // namespace berth::cli
