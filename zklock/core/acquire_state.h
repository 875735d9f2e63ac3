// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::core {

/// The states of one contender from start() to its grant. A contender that is not withdrawn leaves
/// a state only after the replies to all requests of that state. So a reply is never taken for the
/// reply to another request.
///
/// For a state and an input, the first row whose condition is true decides. In a condition, ","
/// means "and". "/" means "or", and binds more strongly. The condition of a reply begins with its
/// Status, or with "any". The words "any other" mean all that no row above decides. "create:
/// throttled" means that the create has the status throttled. "create: any other" does not include
/// ok. Parentheses contain remarks: a note, or the Errc that the caller gets. If the next state is
/// `[...]`, the rows of that name at the end decide. "Number" is the sequence number. It is
/// unusable from kFirstUnusableSequence on, or if it is negative: see is_usable().
///
/// acquire_fsm_table_test.cpp compares the table with the machine. It reads the statuses,
/// "withdrawn" and "own znode deleted", but no other conditions.
///
/// | state           | input           | status, condition                      | next            |
/// |-----------------|-----------------|----------------------------------------|-----------------|
/// | idle            | start           | the counter was at its end             | draining        |
/// |                 |                 | otherwise                              | enqueuing       |
/// | enqueuing       | on_created,     | create: unknown (1)                    | proving         |
/// |                 | on_counted,     | create: any other, withdrawn           | ended           |
/// |                 | on_listed       | create: no_node, 17th in a row (12)    | ended           |
/// |                 |                 | create: no_node                        | making_parents  |
/// |                 |                 | create: node_exists (name taken)       | draining        |
/// |                 |                 | create: session_ended                  | enqueuing       |
/// |                 |                 | create: throttled                      | pausing         |
/// |                 |                 | create: not_sent                       | ended           |
/// |                 |                 | create: any other (an error)           | ended           |
/// |                 |                 | any, withdrawn                         | ended           |
/// |                 | on_created      | any, own name is not a contender's     | [unusable]      |
/// |                 |                 | ok, first by its number (2), number    | [unusable]      |
/// |                 |                 | unusable                               |                 |
/// |                 |                 | ok, first by its number (2)            | [admitted]      |
/// |                 |                 | ok, predecessor predictable (3)        | arming          |
/// |                 |                 | any                                    | listing         |
/// |                 | on_counted      | any, own znode deleted                 | [lost]          |
/// |                 |                 | any, own name is not a contender's     | [unusable]      |
/// |                 |                 | ok, alone (4)                          | [first]         |
/// |                 |                 | ok, one child, but not alone           | listing         |
/// |                 |                 | ok, predecessor predictable (3)        | arming          |
/// |                 |                 | any                                    | listing         |
/// |                 | on_listed       | any, own znode deleted                 | [lost]          |
/// |                 |                 | any, own name is not a contender's     | [unusable]      |
/// |                 |                 | permit count: unknown, number usable   | listing         |
/// |                 |                 | ok / permit count: any, in one         | [listed]        |
/// |                 |                 | session (14)                           |                 |
/// |                 |                 | any                                    | listing         |
/// |                 | on_create_      |                                        | ended           |
/// |                 | withdrawn       |                                        |                 |
/// | making_parents  | on_done         | any, withdrawn                         | ended           |
/// |                 |                 | ok / session_ended                     | enqueuing       |
/// |                 |                 | no_node (no_chroot)                    | ended           |
/// |                 |                 | any other                              | [unbound]       |
/// | proving         | on_done         | ok / no_node / no_auth                 | recovering      |
/// |                 |                 | any other                              | [searching]     |
/// | recovering      | on_listed       | ok, candidates                         | inspecting      |
/// |                 |                 | ok / no_node                           | [not created]   |
/// |                 |                 | any other                              | [searching]     |
/// | inspecting      | on_inspected    | ok / no_node / no_auth, not its own    | inspecting      |
/// |                 |                 | znode, candidates are left             |                 |
/// |                 |                 | ok, withdrawn                          | ended           |
/// |                 |                 | ok, it is its own znode                | listing         |
/// |                 |                 | ok / no_node / no_auth                 | [not created]   |
/// |                 |                 | any other                              | [searching]     |
/// | listing         | on_listed       | any, own znode deleted                 | [lost]          |
/// |                 |                 | ok, first at the gate, number usable   | moving          |
/// |                 |                 | ok, [listed] would lead to granted,    | marking         |
/// |                 |                 | lock delay, own marker not created (16) |                 |
/// |                 |                 | ok / permit count: any                 | [listed]        |
/// |                 |                 | any other                              | [failed]        |
/// | moving          | on_created      | unknown                                | proving         |
/// |                 |                 | no_node / session_ended                | [lost]          |
/// |                 |                 | any other, withdrawn                   | ended           |
/// |                 |                 | ok, name is not a contender's          | [unusable]      |
/// |                 |                 | ok                                     | listing         |
/// |                 |                 | node_exists (name taken)               | draining        |
/// |                 |                 | throttled                              | pausing         |
/// |                 |                 | not_sent                               | listing         |
/// |                 |                 | any other (an error)                   | ended           |
/// | creating_count  | on_done         | any, own znode deleted                 | [lost]          |
/// |                 |                 | ok / node_exists / no_node             | listing         |
/// |                 |                 | any other                              | [failed]        |
/// | arming          | on_watched      | no_node (5)                            | listing         |
/// |                 |                 | ok, an event / newer predecessor (6) / | listing         |
/// |                 |                 | another permit count                   |                 |
/// |                 |                 | ok, own znode deleted                  | [lost]          |
/// |                 |                 | ok                                     | waiting         |
/// |                 |                 | any other                              | [failed]        |
/// | waiting         | on_predecessor_ | its release is a grant (7)             | [admitted]      |
/// |                 | released        | otherwise                              | listing         |
/// |                 | on_predecessor_ |                                        | listing         |
/// |                 | deleted         |                                        |                 |
/// | confirming      | on_done         | any, own znode deleted                 | [lost]          |
/// |                 |                 | ok, lease not valid                    | pausing         |
/// |                 |                 | ok, with a shared count                | listing         |
/// |                 |                 | ok                                     | [leased]        |
/// |                 |                 | any other                              | [failed]        |
/// | marking         | on_done         | any, own znode deleted                 | [lost]          |
/// |                 |                 | ok / node_exists, lease valid          | granted         |
/// |                 |                 | ok / node_exists                       | confirming      |
/// |                 |                 | any other                              | [failed]        |
/// | delaying        | on_delay_over   |                                        | clearing        |
/// | clearing        | on_done         | any, own znode deleted                 | [lost]          |
/// |                 |                 | ok / no_node, others are left          | clearing        |
/// |                 |                 | ok / no_node                           | listing         |
/// |                 |                 | any other                              | [failed]        |
/// | removing_parent | on_done         | any, withdrawn                         | ended           |
/// |                 |                 | ok / no_node / session_ended           | enqueuing       |
/// |                 |                 | not_empty / bad_version                | draining        |
/// |                 |                 | any other                              | [unbound]       |
/// | draining        | on_listed       | any, withdrawn                         | ended           |
/// |                 |                 | no_node / session_ended                | enqueuing       |
/// |                 |                 | ok, next number usable, a child has    | ended           |
/// |                 |                 | the next name (node_exists)            |                 |
/// |                 |                 | ok, next number usable                 | enqueuing       |
/// |                 |                 | ok, no child / permit count alone      | removing_parent |
/// |                 |                 | ok, contenders or siblings (8), single | ended           |
/// |                 |                 | attempt                                |                 |
/// |                 |                 | ok, contenders or siblings (8)         | pausing         |
/// |                 |                 | ok, orphaned delay markers             | enqueuing       |
/// |                 |                 | ok, other children                     | ended           |
/// |                 |                 | (sequence_exhausted)                   |                 |
/// |                 |                 | any other                              | [unbound]       |
/// | pausing         | on_pause_over       | repeats requests of the state before   | [repeated]      |
/// | waiting,        | on_session_     | ended session is its own znode's (13)  | [lost]          |
/// | pausing,        | ended           |                                        |                 |
/// | delaying        |                 |                                        |                 |
/// | waiting,        | on_own_node_    | its own znode exists (13)              | [lost]          |
/// | pausing,        | deleted         |                                        |                 |
/// | delaying        |                 |                                        |                 |
/// | idle, listing,  | withdraw        | deletes its own znode (9)              | ended           |
/// | creating_count, |                 |                                        |                 |
/// | arming, waiting, |                 |                                        |                 |
/// | confirming,     |                 |                                        |                 |
/// | pausing,        |                 |                                        |                 |
/// | marking,        |                 |                                        |                 |
/// | delaying,       |                 |                                        |                 |
/// | clearing        |                 |                                        |                 |
/// | enqueuing,      | withdraw        | ends at a later reply                  | the same        |
/// | making_parents, |                 |                                        |                 |
/// | proving,        |                 |                                        |                 |
/// | recovering,     |                 |                                        |                 |
/// | inspecting,     |                 |                                        |                 |
/// | moving,         |                 |                                        |                 |
/// | removing_parent,|                 |                                        |                 |
/// | draining        |                 |                                        |                 |
/// | granted, ended  |                 |                                        | (final)         |
/// | [listed]        |                 | path newer than its own znode          | [lost]          |
/// |                 |                 | permit count: no_node, number usable,  | ended           |
/// |                 |                 | 17th in a row (12)                     |                 |
/// |                 |                 | permit count: no_node, number usable   | creating_count  |
/// |                 |                 | permit count: any other, number usable | [failed]        |
/// |                 |                 | permit count unreadable (bad_data),    | ended           |
/// |                 |                 | number usable                          |                 |
/// |                 |                 | own znode missing                      | [lost]          |
/// |                 |                 | mismatch (settings_mismatch)           | ended           |
/// |                 |                 | first, orphaned delay markers (10)     | delaying        |
/// |                 |                 | number unusable                        | [unusable]      |
/// |                 |                 | ok, first, lease not valid             | confirming      |
/// |                 |                 | ok, first                              | granted         |
/// |                 |                 | ok, behind, single attempt             | ended           |
/// |                 |                 | ok, behind                             | arming          |
/// | [unusable]      |                 | 17th (sequence_exhausted)              | ended           |
/// |                 |                 | otherwise                              | removing_parent |
/// | [first]         |                 | number unusable                        | [unusable]      |
/// |                 |                 | at the gate                            | moving          |
/// |                 |                 | otherwise                              | [admitted]      |
/// | [admitted]      |                 | lease not valid                        | confirming      |
/// |                 |                 | otherwise                              | [leased]        |
/// | [leased]        |                 | lock delay, own marker not created     | marking         |
/// |                 |                 | otherwise                              | granted         |
/// | [lost]          |                 | withdrawn                              | ended           |
/// |                 |                 | Policy::queue_again                    | enqueuing       |
/// |                 |                 | otherwise (an error)                   | ended           |
/// | [not created]   |                 | withdrawn                              | ended           |
/// |                 |                 | reply to create was lost               | enqueuing       |
/// |                 |                 | reply to move was lost                 | listing         |
/// | [failed]        |                 | unknown (repeats the requests)         | the same        |
/// |                 |                 | throttled                              | pausing         |
/// |                 |                 | no_node / session_ended                | [lost]          |
/// |                 |                 | not_sent                               | ended           |
/// |                 |                 | any other (an error)                   | ended           |
/// | [unbound]       |                 | unknown (repeats the requests)         | the same        |
/// |                 |                 | throttled                              | pausing         |
/// |                 |                 | not_sent                               | ended           |
/// |                 |                 | any other (an error)                   | ended           |
/// | [searching]     |                 | unknown (repeats the requests)         | the same        |
/// |                 |                 | session_ended                          | [lost]          |
/// |                 |                 | not_sent                               | ended           |
/// |                 |                 | closed / auth_failed (an error)        | ended           |
/// |                 |                 | throttled                              | pausing         |
/// |                 |                 | any other (an error, 11)               | pausing         |
/// | [repeated]      |                 | the state that was paused (15)         | enqueuing,      |
/// |                 |                 |                                        | making_parents, |
/// |                 |                 |                                        | proving,        |
/// |                 |                 |                                        | recovering,     |
/// |                 |                 |                                        | inspecting,     |
/// |                 |                 |                                        | listing,        |
/// |                 |                 |                                        | creating_count, |
/// |                 |                 |                                        | arming,         |
/// |                 |                 |                                        | confirming,     |
/// |                 |                 |                                        | marking,        |
/// |                 |                 |                                        | clearing,       |
/// |                 |                 |                                        | removing_parent,|
/// |                 |                 |                                        | draining        |
///
/// 1. The rows of enqueuing apply when all its requests are answered: the create, and the count of
/// the children if it was sent. If the permit count is shared, a list replaces the count of the
/// children. If the create is ok, and a count or list was sent, the status is that of the count or
/// list. 2. CreatedAnswer::first is set, and the contender may predict its predecessor (3). 3. A
/// contender may predict if its rule is a mutex's, Policy::wait is set, and Policy::always_list is
/// not. The predicted predecessor has the preceding number. It is predictable if its number is
/// usable and above 0. 4. One child was counted, and no child was created or deleted after its own
/// znode. So the counted child is its own znode. A count that was answered in another session is
/// treated as a failed one: it leads to listing. 5. The status stands for the replies about all
/// predecessors. It is the first that is neither ok nor no_node. Without such a status, it is
/// no_node if any reply has that. 6. A predecessor with a lower number than its own znode, but a
/// newer czxid. It causes one more list. If that list shows the predecessor again, the contender
/// waits for it. 7. waits_for_announcement() is true. 8. The siblings are release requests and
/// proclamations. They are deleted with their contender. 9. Its own znode is deleted, if there is
/// one. Exception: in a pause of the search for it (proving, recovering, inspecting), the state
/// stays pausing. The contender ends when the search ends. 10. At the gate, markers are ignored: a
/// delay concerns the lock. Exception: its number is unusable. Then the path must be deleted,
/// and it cannot be deleted while it has markers. 11. The caller gets the error at once. The search
/// goes on, because the znode must be deleted. From then on the contender counts as withdrawn. 12.
/// An error: other clients delete the path, or the permit count, after each create. 13. Exception:
/// in a pause of the search for the moved znode, the event changes nothing. A later reply shows the
/// loss. 14. The create, the list and the get of the permit count were answered in the same
/// session. This applies to "ok", too. 15. A throttled move counts as a pause of listing. 16. The
/// rows of [listed] are tried first. If they lead to granted, but the contender still needs its
/// delay marker, this row applies.
///
/// [failed] is for requests that need its own znode. [unbound] is for those of a contender without
/// a znode, and [searching] for those of the search for a znode.
///
/// In draining, orphaned delay markers lead to enqueuing: a contender needs a znode to delete them.
///
/// In enqueuing and listing, the get of a shared permit count follows the list. A condition with
/// its status implies that the list is ok.
///
/// A withdrawn contender ends at the reply that says whether its znode exists, and creates no
/// further one. If its create was not sent, on_create_withdrawn() ends it.
///
/// acquire_fsm_steps.cpp explains the shared permit count, the gate and the lock delay, and
/// acquire_fsm_end.cpp the end of the sequence counter.
enum class AcquireState : std::uint8_t {
  idle,
  enqueuing,        ///< create, then count or list the children
  making_parents,   ///< create the parents
  proving,          ///< check the path through the quorum
  recovering,       ///< list, to find its own znode
  inspecting,       ///< get a candidate for its own znode
  listing,          ///< list; get the permit count if shared
  moving,           ///< move from the gate to the queue
  creating_count,   ///< create the permit count
  arming,           ///< get and watch each predecessor
  waiting,          ///< for an event of a predecessor
  confirming,       ///< check its own znode
  pausing,          ///< for a timer, then repeat the requests
  marking,          ///< create its own delay marker
  delaying,         ///< for a timer, because of orphaned markers
  clearing,         ///< delete an orphaned delay marker
  removing_parent,  ///< delete the path, or recreate it
  draining,         ///< list, until the path can be deleted
  granted,
  ended,
};

}  // namespace zklock::core
