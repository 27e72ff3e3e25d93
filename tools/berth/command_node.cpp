// node and config: a node in the foreground, and the reference of its configuration.
#include <unistd.h>

#include "messages/log.hpp"
#include "runtime/config_keys.hpp"
#include "runtime/version.hpp"
#include "tools/berth/commands.hpp"
#include "tools/berth/output.hpp"
#include "tools/berth/progress.hpp"
#include "tools/berth/session.hpp"
#include "tools/berth/workplace.hpp"

namespace berth::cli {

int run_node(const context& c) {
  const auto at = parse_endpoint(c.settings.node.listen);
  if (!at)
    return fail(c, at.error());
  auto link = session::start_node(c.settings, c.events);
  if (!link)
    return fail(c, link.error());
  auto& running = *(*link)->own_node();
  const auto port = running.publish(at->host, at->port);
  if (!port)
    return fail(c, port.error());
  const auto shown_host = at->host.find(':') == std::string::npos ? at->host : "[" + at->host + "]";
  const auto address = shown_host + ":" + std::to_string(*port);
  const auto s = (*link)->call<node_status>((*link)->provider(), short_bound, query_node{});
  if (!s)
    return fail(c, s.error());
  // The one line that a script waits for; a reader that is gone does not matter to a node.
  if (c.opts.json)
    print_json({{"ready", address},
                {"node", s->node.value},
                {"version", s->version},
                {"pid", ::getpid()},
                {"backend", {{"kind", s->backend.kind}, {"detail", s->backend.detail}}}});
  else
    print_text("berth " + s->version + " ready on " + address + " (" + s->backend.kind + ": " + s->backend.detail
               + ")\n");
  constexpr std::chrono::hours round{24 * 365};
  while (c.events->run_until([] { return false; }, round, true) != waited::signalled) {
  }
  log::info("a signal arrived: stopping within " + human_time(c.settings.node.shutdown_timeout.count())
            + "; a second one ends at once");
  const auto report = [&] {
    const progress shown{"stopping"};
    return running.stop(c.settings.node.shutdown_timeout);
  }();
  if (report.left.empty())
    return 0;
  std::string ids;
  for (const auto& id : report.left)
    ids += (ids.empty() ? "" : ", ") + id.value;
  return fail(c, make_error(errc::timed_out, "not every sandbox could be stopped: " + ids));
}

int show_config(const context& c) {
  if (!c.opts.json)
    return print_text(describe_keys());
  auto keys = nlohmann::ordered_json::array();
  const auto defaults = default_config();
  for (const auto& k : detail::keys())
    keys.push_back({{"key", std::string{k.path}},
                    {"default", detail::shown(k, defaults)},
                    {"expects", detail::expectation(k)},
                    {"meaning", std::string{k.doc}}});
  return print_json({{"keys", keys}});
}

} // namespace berth::cli
