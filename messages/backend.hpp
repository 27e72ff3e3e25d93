#pragma once
// What berth asks of a kind of sandbox: create, find, list, probe, destroy, open. A backend keeps no lifecycle state.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messages/ids.hpp"
#include "messages/values.hpp"

namespace berth {

/// One running sandbox as its backend sees it.
struct instance {
  sandbox_id id;
  instance_id instance;           ///< the backend's unique name; a destroy addresses this
  scope owner_scope;              ///< empty parts where the backend's metadata does not lead back to a scope
  fencing_epoch epoch;            ///< the lease's epoch at creation, kept as a label
  std::int64_t created_at_ms = 0; ///< Unix time; 0 = unknown age
  std::string fleet;              ///< the fleet that made it; others are never touched
};
BERTH_MESSAGE(instance, id, instance, owner_scope, epoch, created_at_ms, fleet)

/// Asks a backend what it is.
struct backend_query {};
BERTH_EMPTY_MESSAGE(backend_query)

/// What a backend is and can do.
struct backend_info {
  std::string kind;                ///< "local", "docker", ...
  std::string detail;              ///< what was chosen at start and why, for people
  bool survives_node = false;      ///< its sandboxes outlive a crashed node, so peers can adopt them
  bool shares_thread_data = false; ///< the host sees the sandbox's user-data directories
};
BERTH_MESSAGE(backend_info, kind, detail, survives_node, shares_thread_data)

/// Creates and waits until ready. Errors: backend_failure, no_space, permission_denied; timed_out = may exist.
struct create_sandbox {
  sandbox_id id;
  scope owner_scope;
  fencing_epoch epoch;
};
BERTH_MESSAGE(create_sandbox, id, owner_scope, epoch)

/// Looks for a running sandbox of this id. An unverifiable one is not reported: it is not adoptable.
struct find_sandbox {
  sandbox_id id;
};
BERTH_MESSAGE(find_sandbox, id)

/// The answer to find_sandbox: none or one.
struct find_answer {
  std::vector<instance> found;
};
BERTH_MESSAGE(find_answer, found)

/// Lists what runs and belongs to this fleet.
struct list_sandboxes {};
BERTH_EMPTY_MESSAGE(list_sandboxes)

/// The answer to list_sandboxes. An incomplete inventory proves nothing about what it omits.
struct inventory {
  bool complete = false;
  std::vector<instance> instances;
};
BERTH_MESSAGE(inventory, complete, instances)

/// What a probe found. "Unknown" is an error (errc::backend_unknown), never a value: unknown is not dead.
enum class health : std::uint8_t { alive, dead };
std::string to_string(health x);

/// Asks whether exactly this instance still runs.
struct probe_sandbox {
  sandbox_id id;
  instance_id instance;
};
BERTH_MESSAGE(probe_sandbox, id, instance)

/// The answer to probe_sandbox.
struct probe_answer {
  health state = health::dead;
};
BERTH_MESSAGE(probe_answer, state)

/// Stops and removes. Gone already counts as done. With an empty `instance` (a create whose reply never came) it
/// means what carries this id and this epoch, nothing else.
struct destroy_sandbox {
  sandbox_id id;
  instance_id instance;
  fencing_epoch epoch;
};
BERTH_MESSAGE(destroy_sandbox, id, instance, epoch)

/// The answer to destroy_sandbox.
struct destroyed {
  bool existed = false;
};
BERTH_MESSAGE(destroyed, existed)

/// Opens a client to a running instance. The answer is a client_actor, owned by who asked.
struct open_sandbox {
  sandbox_id id;
  instance_id instance;
};
BERTH_MESSAGE(open_sandbox, id, instance)

} // namespace berth
