// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::core {

/// The states of one contender from start() to its grant. A contender that is not withdrawn leaves
/// a state only after the replies to all requests of that state. So a reply is never taken for the
/// reply to another request.
///
/// For a state and an input, the first row whose condition is true decides. In a condition,
/// "a / b, c" means "(a or b) and c". A request before a colon is the one whose status follows; an
/// Errc after a colon is the one that the caller gets. If the next state is `[...]`, the rows of
/// that name at the end decide. "Number", "usable" and "unusable" refer to the sequence number.
///
/// | state           | input               | condition                          | next            |
/// |-----------------|---------------------|------------------------------------|-----------------|
/// | idle            | start               | the counter was at its end         | draining        |
/// |                 |                     | otherwise                          | enqueuing       |
/// | enqueuing       | on_created,         | create: unknown (1)                | proving         |
/// |                 | on_counted,         | create: no node                    | making_parents  |
/// |                 | on_listed           | create: node exists (name taken)   | draining        |
/// |                 |                     | create: session ended              | enqueuing       |
/// |                 |                     | create: throttled                  | pausing         |
/// |                 |                     | create: not sent / an error        | ended           |
/// |                 |                     | own znode deleted                  | [lost]          |
/// |                 |                     | own name is not a contender's      | removing_parent |
/// |                 |                     | count or list failed               | listing         |
/// |                 | on_created          | first by its number (2), unusable  | removing_parent |
/// |                 |                     | first by its number (2)            | [admitted]      |
/// |                 |                     | predecessor predictable (3)        | arming          |
/// |                 |                     | otherwise                          | listing         |
/// |                 | on_counted          | alone (4)                          | [first]         |
/// |                 |                     | one child, but not alone           | listing         |
/// |                 |                     | predecessor predictable (3)        | arming          |
/// |                 |                     | otherwise                          | listing         |
/// |                 | on_listed           | list ok, all in one session        | [listed]        |
/// |                 |                     | otherwise                          | listing         |
/// |                 | on_create_withdrawn |                                    | ended           |
/// | making_parents  | on_done             | ok / session ended                 | enqueuing       |
/// |                 |                     | no node: no_chroot                 | ended           |
/// |                 |                     | otherwise                          | [unbound]       |
/// | proving         | on_done             | ok / no node / no auth             | recovering      |
/// |                 |                     | otherwise                          | [searching]     |
/// | recovering      | on_listed           | candidates                         | inspecting      |
/// |                 |                     | no candidate / no node             | [not created]   |
/// |                 |                     | otherwise                          | [searching]     |
/// | inspecting      | on_inspected        | it is the own znode                | listing         |
/// |                 |                     | it is not, others are left         | inspecting      |
/// |                 |                     | it is not, none is left            | [not created]   |
/// |                 |                     | otherwise                          | [searching]     |
/// | listing         | on_listed           | first at the gate, number usable   | moving          |
/// |                 |                     | [listed] gives granted, lock delay,| marking         |
/// |                 |                     | its marker not created             |                 |
/// |                 |                     | ok                                 | [listed]        |
/// |                 |                     | otherwise                          | [failed]        |
/// | moving          | on_created          | ok, name is not a contender's      | removing_parent |
/// |                 |                     | ok                                 | listing         |
/// |                 |                     | unknown                            | proving         |
/// |                 |                     | no node / session ended            | [lost]          |
/// |                 |                     | node exists (name taken)           | draining        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | not sent / an error                | ended           |
/// | seeding         | on_done             | ok / node exists / no node         | listing         |
/// |                 |                     | otherwise                          | [failed]        |
/// | arming          | on_watched          | a reply failed                     | [failed]        |
/// |                 |                     | an event / no node / another       | listing         |
/// |                 |                     | permit count / newer predecessor   |                 |
/// |                 |                     | (5)                                |                 |
/// |                 |                     | own znode deleted                  | [lost]          |
/// |                 |                     | otherwise                          | waiting         |
/// | waiting         | on_predecessor_     | its release is a grant (6)         | [admitted]      |
/// |                 | released            | otherwise                          | listing         |
/// |                 | on_predecessor_     |                                    | listing         |
/// |                 | deleted             |                                    |                 |
/// | confirming      | on_done             | ok, lease not valid                | pausing         |
/// |                 |                     | ok, with a shared count            | listing         |
/// |                 |                     | ok                                 | [leased]        |
/// |                 |                     | otherwise                          | [failed]        |
/// | marking         | on_done             | ok / node exists, lease valid      | granted         |
/// |                 |                     | ok / node exists                   | confirming      |
/// |                 |                     | otherwise                          | [failed]        |
/// | delaying        | on_delay_over       |                                    | clearing        |
/// | clearing        | on_done             | ok / no node, others are left      | clearing        |
/// |                 |                     | ok / no node, none is left         | listing         |
/// |                 |                     | otherwise                          | [failed]        |
/// | removing_parent | on_done             | ok / no node / session ended       | enqueuing       |
/// |                 |                     | not empty / bad version            | draining        |
/// |                 |                     | otherwise                          | [unbound]       |
/// | draining        | on_listed           | no node / session ended            | enqueuing       |
/// |                 |                     | next number usable, name taken     | skipping        |
/// |                 |                     | next number usable                 | enqueuing       |
/// |                 |                     | no child / permit count alone      | removing_parent |
/// |                 |                     | contenders or siblings (7), single | ended           |
/// |                 |                     | attempt                            |                 |
/// |                 |                     | contenders or siblings (7)         | pausing         |
/// |                 |                     | orphaned delay markers             | enqueuing       |
/// |                 |                     | other children: sequence_exhausted | ended           |
/// |                 |                     | otherwise                          | [unbound]       |
/// | skipping        | on_done             | ok / no node / session ended       | enqueuing       |
/// |                 |                     | otherwise                          | [unbound]       |
/// | pausing         | on_resume           | repeats the requests of the state  | [repeated]      |
/// |                 |                     | before                             |                 |
/// | waiting,        | on_session_ended,   | ended session is the own znode's   | [lost]          |
/// | pausing,        | on_own_node_deleted |                                    |                 |
/// | delaying        |                     |                                    |                 |
/// | idle, listing,  | withdraw            | deletes the own znode (8)          | ended           |
/// | seeding, arming,|                     |                                    |                 |
/// | waiting,        |                     |                                    |                 |
/// | confirming,     |                     |                                    |                 |
/// | pausing,        |                     |                                    |                 |
/// | marking,        |                     |                                    |                 |
/// | delaying,       |                     |                                    |                 |
/// | clearing        |                     |                                    |                 |
/// | enqueuing,      | withdraw            | ends at a later reply              | the same        |
/// | making_parents, |                     |                                    |                 |
/// | proving,        |                     |                                    |                 |
/// | recovering,     |                     |                                    |                 |
/// | inspecting,     |                     |                                    |                 |
/// | moving,         |                     |                                    |                 |
/// | removing_parent,|                     |                                    |                 |
/// | draining,       |                     |                                    |                 |
/// | skipping        |                     |                                    |                 |
/// | granted, ended  |                     |                                    | (final)         |
/// | [listed]        |                     | no node / own znode missing / path | [lost]          |
/// |                 |                     | newer than the own znode           |                 |
/// |                 |                     | permit count (9): no node          | seeding         |
/// |                 |                     | permit count (9): bad_data         | ended           |
/// |                 |                     | permit count (9) failed            | [failed]        |
/// |                 |                     | mismatch: settings_mismatch        | ended           |
/// |                 |                     | first, orphaned delay markers (10) | delaying        |
/// |                 |                     | number unusable                    | removing_parent |
/// |                 |                     | first, lease not valid             | confirming      |
/// |                 |                     | first                              | granted         |
/// |                 |                     | behind, single attempt             | ended           |
/// |                 |                     | behind                             | arming          |
/// | [first]         |                     | number unusable                    | removing_parent |
/// |                 |                     | at the gate                        | moving          |
/// |                 |                     | otherwise                          | [admitted]      |
/// | [admitted]      |                     | lease not valid                    | confirming      |
/// |                 |                     | otherwise                          | [leased]        |
/// | [leased]        |                     | lock delay, its marker not created | marking         |
/// |                 |                     | otherwise                          | granted         |
/// | [lost]          |                     | Policy::queue_again                | enqueuing       |
/// |                 |                     | otherwise: an error                | ended           |
/// | [not created]   |                     | withdrawn                          | ended           |
/// |                 |                     | reply to create was lost           | enqueuing       |
/// |                 |                     | reply to move was lost             | listing         |
/// | [failed]        |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | no node / session ended            | [lost]          |
/// |                 |                     | not sent / an error                | ended           |
/// | [unbound]       |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | not sent / an error                | ended           |
/// | [searching]     |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | session ended                      | [lost]          |
/// |                 |                     | not sent / closed / auth failed    | ended           |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | an error (11)                      | pausing         |
/// | [repeated]      |                     | the states with a request          | enqueuing,      |
/// |                 |                     |                                    | making_parents, |
/// |                 |                     |                                    | proving,        |
/// |                 |                     |                                    | recovering,     |
/// |                 |                     |                                    | inspecting,     |
/// |                 |                     |                                    | listing, moving,|
/// |                 |                     |                                    | seeding, arming,|
/// |                 |                     |                                    | confirming,     |
/// |                 |                     |                                    | marking,        |
/// |                 |                     |                                    | clearing,       |
/// |                 |                     |                                    | removing_parent,|
/// |                 |                     |                                    | draining,       |
/// |                 |                     |                                    | skipping        |
///
/// 1. The rows of enqueuing apply when the create is answered, and also the count of the children
///    if it was sent. If the permit count is shared, a list replaces the count of the children.
/// 2. CreatedAnswer::first is set, and the contender may predict its predecessor (3).
/// 3. A contender may predict if its rule is a mutex's, Policy::wait is set, and
///    Policy::always_list is not. The predicted predecessor has the preceding number. It is
///    predictable if the own number is usable and above 0.
/// 4. One child was counted, and no child was created or deleted after the own znode. So the
///    counted child is the own znode. A count in another session is a failed count.
/// 5. A predecessor with a lower number than the own znode, but a newer czxid. It causes one more
///    list. If that list shows the predecessor again, the contender waits for it.
/// 6. waits_for_announcement() is true.
/// 7. The siblings are release requests and proclamations. They are deleted with their contender.
/// 8. Exception: a pause in the search for the own znode (proving, recovering, inspecting). Then
///    the contender ends when the search ends.
/// 9. With a shared permit count. It is ignored if the own number is unusable.
/// 10. At the gate, markers are ignored, unless the own number is unusable.
/// 11. The caller gets the error at once. The search goes on, because the znode must be deleted.
///
/// [failed] is for requests that need the own znode. [unbound] is for those of a contender without
/// a znode, and [searching] for those of the search for a znode.
///
/// If the own znode is deleted while a request is outstanding, [lost] follows at the last reply. In
/// arming, the rows of a failed reply and of an event precede that.
///
/// In draining, orphaned delay markers lead to enqueuing: a contender needs a znode to delete them.
///
/// The 17th own znode without a usable number leads to sequence_exhausted. The 17th making_parents
/// or seeding in a row leads to an error: other clients keep deleting that znode.
///
/// A withdrawn contender ends at the reply that says whether its znode exists, and creates no
/// further one. If its create was not sent, on_create_withdrawn() ends it.
///
/// acquire_fsm_permit_count.cpp explains the shared permit count, acquire_fsm_priority_gate.cpp the
/// gate, acquire_fsm_lock_delay.cpp the lock delay, acquire_fsm_counter_end.cpp the end of the
/// sequence counter.
enum class AcquireState : std::uint8_t {
  idle,
  enqueuing,        ///< create, then count or list the children
  making_parents,   ///< create the parents
  proving,          ///< check the path through the quorum
  recovering,       ///< list, to find the own znode
  inspecting,       ///< get a candidate for the own znode
  listing,          ///< list; get the permit count if shared
  moving,           ///< move from the gate to the queue
  seeding,          ///< create the permit count
  arming,           ///< get and watch each predecessor
  waiting,          ///< for an event of a predecessor
  confirming,       ///< check the own znode
  pausing,          ///< for a timer, then repeat the requests
  marking,          ///< create the own delay marker
  delaying,         ///< for a timer, because of orphaned markers
  clearing,         ///< delete an orphaned delay marker
  removing_parent,  ///< delete the path, or recreate it
  draining,         ///< list, until the path can be deleted
  skipping,         ///< create and delete a child, in one transaction
  granted,
  ended,
};

}  // namespace zklock::core
