// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::core {

/// The states of one contender from start() to its grant. A contender that is not withdrawn leaves
/// a state only after all replies to the requests of that state. So no reply is taken for another
/// request's.
///
/// The first row of a state and input that applies decides. `[...]` refers to the rows at the end.
/// A name behind a colon is the Errc that the caller gets. "Number" is the sequence number.
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
/// |                 |                     | create: not sent, an error         | ended           |
/// |                 |                     | own name is not a contender's      | removing_parent |
/// |                 |                     | count or list failed, inconclusive | listing         |
/// |                 | on_created          | first by its number                | [admitted]      |
/// |                 |                     | so, but number unusable            | removing_parent |
/// |                 |                     | predecessor predictable            | arming          |
/// |                 | on_counted          | own znode deleted                  | [lost]          |
/// |                 |                     | alone                              | [first]         |
/// |                 |                     | predecessor predictable            | arming          |
/// |                 | on_listed           | list ok, both in the own session   | [listed]        |
/// |                 | on_create_withdrawn |                                    | ended           |
/// | making_parents  | on_parents_created  | ok, session ended                  | enqueuing       |
/// |                 |                     | no node: no_chroot                 | ended           |
/// |                 |                     | otherwise                          | [unbound]       |
/// | proving         | on_checked          | ok, no node, no auth               | recovering      |
/// |                 |                     | otherwise                          | [searching]     |
/// | recovering      | on_listed           | candidates                         | inspecting      |
/// |                 |                     | no candidate, no node              | [not created]   |
/// |                 |                     | otherwise                          | [searching]     |
/// | inspecting      | on_inspected        | it is the own znode                | listing         |
/// |                 |                     | it is not, others are left         | inspecting      |
/// |                 |                     | it is not, none is left            | [not created]   |
/// |                 |                     | otherwise                          | [searching]     |
/// | listing         | on_listed           | ok                                 | [listed]        |
/// |                 |                     | first at the gate                  | moving          |
/// |                 |                     | first, with a lock delay           | marking         |
/// |                 |                     | otherwise                          | [failed]        |
/// | moving          | on_moved            | ok                                 | listing         |
/// |                 |                     | ok, name is not a contender's      | removing_parent |
/// |                 |                     | unknown                            | proving         |
/// |                 |                     | no node, session ended             | [lost]          |
/// |                 |                     | node exists (name taken)           | draining        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | not sent, an error                 | ended           |
/// | seeding         | on_count_seeded     | ok, node exists, no node           | listing         |
/// |                 |                     | otherwise                          | [failed]        |
/// | arming          | on_watched          | a reply failed                     | [failed]        |
/// |                 |                     | an event, no node, another permit  | listing         |
/// |                 |                     | count, newer predecessor (2)       |                 |
/// |                 |                     | all ok, own znode deleted          | [lost]          |
/// |                 |                     | otherwise, all ok                  | waiting         |
/// | waiting         | on_predecessor_     | its release is a grant (3)         | [admitted]      |
/// |                 | changed             | otherwise                          | listing         |
/// |                 | on_predecessor_     |                                    | [admitted]      |
/// |                 | released            |                                    |                 |
/// |                 | on_predecessor_     |                                    | listing         |
/// |                 | deleted             |                                    |                 |
/// | confirming      | on_checked          | ok, lease not valid                | pausing         |
/// |                 |                     | ok, with a shared count            | listing         |
/// |                 |                     | ok, otherwise                      | [leased]        |
/// |                 |                     | otherwise                          | [failed]        |
/// | marking         | on_marked           | ok, node exists, lease valid       | granted         |
/// |                 |                     | ok, node exists, otherwise         | confirming      |
/// |                 |                     | otherwise                          | [failed]        |
/// | delaying        | on_delay_over       |                                    | clearing        |
/// |                 | on_delay_lasts      | single attempt                     | ended           |
/// | clearing        | on_cleared          | ok, no node; others are left       | clearing        |
/// |                 |                     | ok, no node; none is left          | listing         |
/// |                 |                     | otherwise                          | [failed]        |
/// | removing_parent | on_parent_removed   | ok, no node, session ended         | enqueuing       |
/// |                 |                     | not empty, bad version             | draining        |
/// |                 |                     | otherwise                          | [unbound]       |
/// | draining        | on_listed           | no node, session ended             | enqueuing       |
/// |                 |                     | next number usable, name taken     | skipping        |
/// |                 |                     | next number usable, otherwise      | enqueuing       |
/// |                 |                     | no child, or permit count alone    | removing_parent |
/// |                 |                     | contenders or their siblings (4)   | pausing         |
/// |                 |                     | so, single attempt                 | ended           |
/// |                 |                     | orphaned delay markers             | enqueuing       |
/// |                 |                     | others: sequence_exhausted         | ended           |
/// |                 |                     | otherwise                          | [unbound]       |
/// | skipping        | on_number_skipped   | ok, no node, session ended         | enqueuing       |
/// |                 |                     | otherwise                          | [unbound]       |
/// | pausing         | on_resume           | repeats the requests of the state  | [repeated]      |
/// |                 |                     | before                             |                 |
/// | waiting,        | on_session_ended,   | the session of the own znode       | [lost]          |
/// | pausing,        | on_own_node_deleted |                                    |                 |
/// | delaying        |                     |                                    |                 |
/// | idle, listing,  | withdraw            | deletes the own znode; but in      | ended           |
/// | seeding, arming,|                     | pausing not while it searches      |                 |
/// | waiting,        |                     | for its znode                      |                 |
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
/// | [listed]        |                     | no node, own znode missing, path   | [lost]          |
/// |                 |                     | newer than the own znode           |                 |
/// |                 |                     | permit count (5): no node          | seeding         |
/// |                 |                     | permit count (5): bad_data         | ended           |
/// |                 |                     | permit count (5) failed            | [failed]        |
/// |                 |                     | mismatch: settings_mismatch        | ended           |
/// |                 |                     | first, orphaned delay markers (6)  | delaying        |
/// |                 |                     | number unusable                    | removing_parent |
/// |                 |                     | first, lease not valid             | confirming      |
/// |                 |                     | first, otherwise                   | granted         |
/// |                 |                     | behind, single attempt             | ended           |
/// |                 |                     | behind, otherwise                  | arming          |
/// | [first]         |                     | number unusable                    | removing_parent |
/// |                 |                     | at the gate                        | moving          |
/// |                 |                     | otherwise                          | [admitted]      |
/// | [admitted]      |                     | lease not valid                    | confirming      |
/// |                 |                     | otherwise                          | [leased]        |
/// | [leased]        |                     | lock delay, its marker not created | marking         |
/// |                 |                     | otherwise                          | granted         |
/// | [lost]          |                     | Policy::queue_again                | enqueuing       |
/// |                 |                     | otherwise: an error                | ended           |
/// | [not created]   |                     | reply to create was lost           | enqueuing       |
/// |                 |                     | reply to move was lost             | listing         |
/// |                 |                     | withdrawn                          | ended           |
/// | [failed]        |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | no node, session ended             | [lost]          |
/// |                 |                     | not sent, an error                 | ended           |
/// | [unbound]       |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | not sent, an error                 | ended           |
/// | [searching]     |                     | unknown: repeats the requests      | the same        |
/// |                 |                     | session ended                      | [lost]          |
/// |                 |                     | not sent, closed, auth failed      | ended           |
/// |                 |                     | throttled                          | pausing         |
/// |                 |                     | an error, which is reported        | pausing         |
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
/// 1. At the last reply: to the create, the count of the children, or the list with a shared count.
///    A count is inconclusive if one child was counted, but children were created or deleted since.
/// 2. It has a lower sequence number and a newer czxid, and was not yet found so; see
///    RareState::newer_predecessors.
/// 3. The announcement of one that waits_for_release(), or its release by this client.
/// 4. Release requests and proclamations.
/// 5. With a shared count. It is ignored if the own sequence number is unusable.
/// 6. At the gate only if the own sequence number is unusable; see acquire_fsm_lock_delay.cpp.
///
/// If the own znode is deleted while a request is outstanding, [lost] follows at the last reply. In
/// arming, a failed reply or an event counts first.
///
/// The 17th own znode without a usable sequence number leads to sequence_exhausted. The 17th
/// making_parents or seeding in a row leads to an error: other clients keep deleting that znode.
///
/// A withdrawn contender ends at the reply that says whether its znode exists, and enqueues no
/// more. If the create was not sent, on_create_withdrawn() ends it.
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
  listing,          ///< list; with a shared count, get it
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
  skipping,         ///< add and delete a child
  granted,
  ended,
};

}  // namespace zklock::core
