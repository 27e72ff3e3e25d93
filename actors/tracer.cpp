#include "actors/tracer.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

namespace berth {

namespace {

// Two columns of names stay aligned unless a name is longer than that.
constexpr std::size_t widest_names = 44;

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ns) / 1e6);
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width)
    text.append(width - text.size(), ' ');
  return text;
}

// Names as short as they are unambiguous within one trace.
class namer {
public:
  explicit namer(const std::vector<const trace_event*>& events) {
    for (const auto* e : events) {
      ids_[e->sender_name].insert(e->sender);
      ids_[e->receiver_name].insert(e->receiver);
    }
  }

  [[nodiscard]] std::string operator()(const char* name, caf::actor_id id) const {
    if (id == 0)
      return "-";
    const auto i = ids_.find(name);
    const auto alone = i != ids_.end() && i->second.size() == 1;
    return alone ? name : name + ("#" + std::to_string(id));
  }

private:
  std::map<std::string, std::set<caf::actor_id>> ids_;
};

// How far each message is indented: one step more than what caused it, but a response stands where its request does, and
// what follows from a response stands beside it.
std::unordered_map<std::uint64_t, std::size_t> depths(const std::vector<const trace_event*>& events) {
  std::unordered_map<std::uint64_t, std::size_t> result;
  std::unordered_map<std::uint64_t, trace_kind> kinds;
  for (const auto* e : events)
    kinds.emplace(e->span, e->kind);
  for (const auto* e : events) { // a cause was queued before its effect, and stands before it
    std::size_t depth = 0;
    if (const auto request = result.find(e->answers); e->answers != 0 && request != result.end())
      depth = request->second;
    else if (const auto cause = result.find(e->parent); e->parent != 0 && cause != result.end())
      depth = cause->second + (kinds[e->parent] == trace_kind::response ? 0 : 1);
    result.emplace(e->span, depth);
  }
  return result;
}

} // namespace

// -- trace_ring ---------------------------------------------------------------------------------------------------------

trace_ring::trace_ring(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

void trace_ring::on_event(trace_event event) noexcept {
  try {
    const std::lock_guard lock{guard_};
    if (events_.size() < capacity_) {
      events_.push_back(std::move(event));
      return;
    }
    std::swap(events_[oldest_], event); // the older one's text is freed after the lock
    oldest_ = (oldest_ + 1) % capacity_;
    ++dropped_;
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock{guard_};
    ++dropped_;
  }
}

std::vector<trace_event> trace_ring::take() {
  std::vector<trace_event> result;
  {
    const std::lock_guard lock{guard_};
    result.swap(events_);
    oldest_ = 0;
  }
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.span < b.span; });
  return result;
}

std::uint64_t trace_ring::dropped() const {
  const std::lock_guard lock{guard_};
  return dropped_;
}

// -- trace_recorder -----------------------------------------------------------------------------------------------------

trace_recorder::trace_recorder(std::size_t capacity) : ring_(std::make_shared<trace_ring>(capacity)) {
  install_trace_sink(ring_);
}

trace_recorder::~trace_recorder() { install_trace_sink(nullptr); }

// -- printing -----------------------------------------------------------------------------------------------------------

std::vector<std::uint64_t> find_traces(const std::vector<trace_event>& events, std::string_view prefix) {
  std::vector<std::uint64_t> result;
  for (const auto& e : events)
    if (e.span == e.trace && std::string_view{e.message}.starts_with(prefix))
      result.push_back(e.trace);
  return result;
}

std::string render_trace(const std::vector<trace_event>& events, std::uint64_t trace) {
  std::vector<const trace_event*> chosen;
  for (const auto& e : events)
    if (e.trace == trace)
      chosen.push_back(&e);
  if (chosen.empty())
    return {};
  std::sort(chosen.begin(), chosen.end(), [](const auto* a, const auto* b) { return a->span < b->span; });

  const auto begin = chosen.front()->queued_ns;
  auto end = begin;
  const namer name{chosen};
  const auto depth = depths(chosen);
  std::set<caf::actor_id> actors;
  std::size_t width = 0;
  std::vector<std::string> names;
  std::unordered_map<std::uint64_t, const trace_event*> by_span;
  for (const auto* e : chosen)
    by_span.emplace(e->span, e);
  for (const auto* e : chosen) {
    end = std::max(end, e->ended_ns);
    actors.insert(e->receiver);
    // A delegated request keeps its sender; what handed it on is the receiver of its cause.
    const auto cause = by_span.find(e->parent);
    const auto delegated = e->kind == trace_kind::request && cause != by_span.end()
                           && cause->second->kind == trace_kind::request && cause->second->sender == e->sender
                           && cause->second->receiver != e->sender;
    const auto from =
        delegated ? name(cause->second->receiver_name, cause->second->receiver) : name(e->sender_name, e->sender);
    const auto* arrow = e->kind == trace_kind::response ? " => " : delegated ? " >> " : " -> ";
    names.push_back(std::string(2 * depth.at(e->span), ' ') + from + arrow + name(e->receiver_name, e->receiver));
    width = std::max(width, names.back().size());
  }
  width = std::min(width, widest_names);

  std::string text = "trace " + std::to_string(trace) + ": " + std::to_string(chosen.size()) + " messages to "
                     + std::to_string(actors.size()) + " actors in " + milliseconds(end - begin) + " ms\n";
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto& e = *chosen[i];
    auto offset = milliseconds(e.queued_ns - begin);
    if (offset.size() < 9)
      offset.insert(0, 9 - offset.size(), ' ');
    text += offset + "  " + padded(names[i], width) + "  ";
    if (e.handled)
      text += e.message + "  [waited " + milliseconds(e.started_ns - e.queued_ns) + ", ran "
              + milliseconds(e.ended_ns - e.started_ns) + "]\n";
    else
      text += "(not handled: the receiver had ended, or awaited it no more)\n";
  }
  return text;
}

} // namespace berth
