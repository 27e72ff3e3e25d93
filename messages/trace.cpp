#include "messages/trace.hpp"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "messages/errors.hpp"

// Exist only under ThreadSanitizer.
extern "C" void __tsan_acquire(void*); // NOLINT(bugprone-reserved-identifier)
extern "C" void __tsan_release(void*); // NOLINT(bugprone-reserved-identifier)

namespace berth {

namespace {

// What ThreadSanitizer cannot see: a message happens before its handling, and the handling of one message before that
// of the actor's next one.
void happens_before([[maybe_unused]] const void* point) {
  if constexpr (detail::trace_always)
    __tsan_release(const_cast<void*>(point));
}
void happens_after([[maybe_unused]] const void* point) {
  if constexpr (detail::trace_always)
    __tsan_acquire(const_cast<void*>(point));
}

// The cause of what this thread sends now.
struct cause {
  std::uint64_t trace = 0;
  std::uint64_t span = 0;
};
thread_local cause current;

// A longer text says no more, and a ring of events has to stay small.
constexpr std::size_t text_cap = 400;

// Which message each open request of this process was. A response is often delivered from a handler that has to do with
// many requests (a batch of a store, a queue of waiters), and a timeout by nobody: only the request leads back.
class request_table {
public:
  void remember(caf::actor_id asker, std::uint64_t request, cause c) {
    const key k{asker, request};
    if (!causes_.try_emplace(k, c).second)
      return; // delegated: the first hop counts
    order_.push_back(k);
    if (order_.size() > capacity) {
      causes_.erase(order_.front());
      order_.pop_front();
    }
  }

  cause take(caf::actor_id asker, std::uint64_t request) {
    const auto i = causes_.find(key{asker, request});
    if (i == causes_.end())
      return {};
    const auto result = i->second;
    causes_.erase(i);
    return result;
  }

private:
  // Requests whose answer goes unseen (the asker is not traced) must not pile up.
  static constexpr std::size_t capacity = 65'536;

  struct key {
    caf::actor_id asker;
    std::uint64_t request;
    bool operator==(const key&) const = default;
  };
  struct hash {
    std::size_t operator()(const key& x) const noexcept { return x.asker * 0x9e3779b97f4a7c15ULL ^ x.request; }
  };
  std::unordered_map<key, cause, hash> causes_;
  std::deque<key> order_;
};

// The one place of the process that knows where events go; touched only while tracing is on.
struct registry {
  std::mutex guard;
  std::shared_ptr<trace_sink> sink;
  request_table requests;
  std::uint64_t last_span = 0;
};
registry& the_registry() {
  static registry instance;
  return instance;
}

const char* name_of(const caf::strong_actor_ptr& actor, const caf::node_id& here) {
  if (!actor)
    return "";
  if (actor->node() != here)
    return "remote";
  auto* local = dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(actor));
  return local ? local->name() : "proxy";
}

std::string text_of(const caf::type_erased_tuple& content) {
  if (content.match_elements<caf::error>())
    return "error: " + explain(content.get_as<caf::error>(0));
  auto text = content.stringify();
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    text = text.substr(1, text.size() - 2);
  for (std::size_t at = 0; (at = text.find("berth::", at)) != std::string::npos;)
    text.erase(at, 7);
  if (text.size() > text_cap) {
    text.resize(text_cap);
    text += "...";
  }
  return text;
}

// Takes the place of a message in a mailbox. The first look at the content is the start of its handling, its destruction
// the end.
class traced_element final : public caf::mailbox_element {
public:
  traced_element(caf::mailbox_element_ptr inner, caf::local_actor& receiver)
      : caf::mailbox_element(std::move(inner->sender), inner->mid, std::move(inner->stages)), inner_(std::move(inner)),
        receiver_(&receiver), clock_(receiver.clock()) {
    if (detail::trace_on.load(std::memory_order_relaxed))
      begin(receiver);
    happens_before(this);
  }

  ~traced_element() override {
    happens_after(this);
    inner_.reset();
    if (touched_)
      happens_before(receiver_);
    if (sink_) {
      event_.handled = touched_;
      event_.ended_ns = now();
      if (!touched_)
        event_.started_ns = event_.queued_ns;
      if (current.span == event_.span)
        current = {};
      sink_->on_event(std::move(event_));
    }
  }

  caf::type_erased_tuple& content() override {
    touch();
    return inner_->content();
  }
  const caf::type_erased_tuple& content() const override {
    return static_cast<const caf::mailbox_element&>(*inner_).content();
  }
  caf::message move_content_to_message() override {
    touch();
    return inner_->move_content_to_message();
  }
  caf::message copy_content_to_message() const override { return inner_->copy_content_to_message(); }

private:
  [[nodiscard]] std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.now().time_since_epoch()).count();
  }

  void begin(caf::local_actor& receiver) {
    auto& r = the_registry();
    const auto response = mid.is_response();
    const auto here = receiver.node();
    const auto known_asker = mid.is_request() && sender && sender->node() == here;
    {
      std::lock_guard lock{r.guard};
      sink_ = r.sink;
      if (!sink_)
        return;
      event_.span = ++r.last_span;
      event_.trace = current.trace;
      event_.parent = current.span;
      if (response) {
        const auto request = r.requests.take(receiver.id(), mid.request_id().integer_value());
        if (request.span != 0) {
          event_.answers = request.span;
          if (current.trace != request.trace) {
            event_.trace = request.trace;
            event_.parent = request.span;
          }
        }
      }
      if (event_.trace == 0)
        event_.trace = event_.span;
      if (known_asker)
        r.requests.remember(sender->id(), mid.request_id().integer_value(), {event_.trace, event_.span});
    }
    event_.kind = response ? trace_kind::response : mid.is_request() ? trace_kind::request : trace_kind::sent;
    event_.receiver = receiver.id();
    event_.receiver_name = receiver.name();
    event_.sender = sender ? sender->id() : 0;
    event_.sender_name = name_of(sender, here);
    event_.queued_ns = now();
  }

  void touch() {
    happens_after(this);
    if (!touched_) {
      touched_ = true;
      happens_after(receiver_);
      if (sink_) {
        event_.started_ns = now();
        event_.message = text_of(static_cast<const caf::mailbox_element&>(*inner_).content());
      }
    }
    // Set anew each time: a skipped message is looked at again later.
    if (sink_)
      current = {event_.trace, event_.span};
  }

  caf::mailbox_element_ptr inner_;
  const caf::local_actor* receiver_;
  caf::actor_clock& clock_;
  std::shared_ptr<trace_sink> sink_;
  trace_event event_;
  bool touched_ = false;
};

} // namespace

void install_trace_sink(std::shared_ptr<trace_sink> sink) {
  auto& r = the_registry();
  std::shared_ptr<trace_sink> former; // destroyed outside the lock
  std::lock_guard lock{r.guard};
  former = std::exchange(r.sink, std::move(sink));
  r.requests = {};
  detail::trace_on.store(r.sink != nullptr, std::memory_order_relaxed);
}

namespace detail {

std::atomic<bool> trace_on{false};

caf::mailbox_element_ptr trace_wrap(caf::mailbox_element_ptr element, caf::local_actor& receiver) {
  return caf::mailbox_element_ptr{std::make_unique<traced_element>(std::move(element), receiver).release()};
}

void trace_launch(const caf::local_actor& self) { happens_before(&self); }

trace_run::trace_run(const caf::local_actor& self) : self_(&self), trace_(current.trace), span_(current.span) {
  happens_after(&self);
  current = {};
}

trace_run::~trace_run() {
  current = {trace_, span_};
  happens_before(self_); // as an address: the actor itself may be gone by now
}

} // namespace detail

} // namespace berth
