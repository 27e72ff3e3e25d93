#pragma once
// Every actor's interface, one line a message. Read this first.
#include "messages/backend.hpp"
#include "messages/capacity.hpp"
#include "messages/lease.hpp"
#include "messages/operations.hpp"
#include "messages/sandbox.hpp"

namespace berth {

/// A client of one running sandbox, made by a backend and used by the sandbox actor only.
using client_actor = actor_of<executed(execute),               // run a command to its end
                              file_content(read_file),         // text of a file, or a range of its lines
                              file_written(write_file),        // replace or append text
                              file_written(update_file),       // replace bytes
                              file_content(download_file),     // bytes of a file below /mnt/user-data
                              dir_listing(list_dir),           // names below a directory
                              glob_answer(glob_files),         // paths by pattern
                              grep_answer(grep_files),         // lines by pattern
                              commands_stopped(stop_commands), // end running commands
                              command_list(list_commands)>;    // which commands run

/// One sandbox of this node: the state machine. Everything that is done to a sandbox passes through its mailbox.
using sandbox_actor = client_actor::extend_with<
    actor_of<acquired(acquire_sandbox),    // make it active, opening it where needed; waits in line behind a teardown
             released(release_sandbox),    // park it
             close_answer(close_sandbox),  // tear it down
             close_answer(reap),           // tear it down if still parked since then
             void(reap_idle),              // tear it down if active and idle for so long
             adopt_answer(adopt_sandbox),  // claim an orphan
             sandbox_status(query_status), // at once, in any state
             void(renew_tick),             // renew the lease
             void(retire),                 // end the actor, if still absent
             void(tick)>>;                 // its own reminder to claim a teardown marker again

/// The front of a node: scope to id, id to sandbox actor. Never waits for I/O, decides nothing about a life.
using provider_actor =
    actor_of<acquired(acquire_sandbox),          // delegated to the sandbox actor of the scope
             sandbox_actor(get_sandbox),         // its handle, from memory
             released(release_sandbox),          // delegated; unknown ids are a no-op
             close_answer(close_sandbox),        // delegated
             tracked_list(list_tracked),         // the status of all
             node_status(query_node),            // the node at a glance
             shutdown_report(reset_provider),    // destroy what is ours, stay usable
             shutdown_report(shutdown_provider), // destroy what is ours, refuse what comes
             adopt_answer(adopt_sandbox),        // from the reconciler: delegated to the sandbox actor of the id
             untracked(filter_untracked),        // from the reconciler: which are not ours
             void(retired)>;                     // from a sandbox: absent and idle

/// The one ordered connection to the lease store. Never reorders two requests about one id.
using store_actor = actor_of<lease_answer(take_lease),    // transfer, refused only by a teardown
                             lease_answer(claim_lease),   // only unowned or ours
                             lease_answer(renew_lease),   // renewed, lapsed or lost
                             lease_answer(release_lease), // ours only
                             lease_view(query_lease),     // a look
                             store_info(store_query)>;    // what it is

/// One configured kind of sandbox.
using backend_actor = actor_of<instance(create_sandbox),     // make and wait until ready
                               find_answer(find_sandbox),    // is one running?
                               inventory(list_sandboxes),    // what runs
                               probe_answer(probe_sandbox),  // alive, dead, or an error = unknown
                               destroyed(destroy_sandbox),   // stop and remove
                               client_actor(open_sandbox),   // a client to it
                               backend_info(backend_query)>; // what it is

/// The order of parked sandboxes by age. Proposes victims; stops nothing itself.
using warm_pool_actor = actor_of<void(parked, sandbox_actor),   // joins at the young end
                                 void(unparked, sandbox_actor), // active: only its idleness is watched
                                 void(departed),                // gone
                                 evicted(evict_one),            // the oldest that agrees
                                 pool_status(query_pool),       // counts
                                 void(tick)>;                   // idle check

/// The slots of a provider.
using capacity_actor = actor_of<slot_answer(reserve_slot),       // a slot before a create; may wait in line
                                slot_answer(account_slot),       // count one that exists
                                void(free_slot),                 // a slot or a place in line is given back
                                void(victim_available),          // an eviction may succeed now
                                capacity_status(query_capacity), // counts
                                void(tick)>;                     // waiters whose time is up

/// The renewal clock of a node, independent of idle time-outs. Outcomes go to the sandbox that asked the store.
using heartbeat_actor = actor_of<void(track, sandbox_actor), // from now on
                                 void(untrack),              // no longer
                                 void(tick)>;                // a renewal interval has passed

/// Periodic inventory with grace clocks. Proposes; the sandbox actor claims.
using reconciler_actor = actor_of<reconcile_report(reconcile_now), // a pass, now
                                  void(tick)>;                     // a pass is due

} // namespace berth
