// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "zklock/core/session.h"
#include "zklock/fencing_token.h"
#include "zklock/participant.h"

namespace zklock::simulator {

using core::Duration;
using core::Instant;

/// One fact, with the time at which it was so, by a clock that nobody in the simulation has.
///
/// | kind        | what happened                          | besides `hold`, or the call, and resource     |
/// |-------------|----------------------------------------|-----------------------------------------------|
/// | wanted      | a call began                           | owner, access, permits; number: the deadline, |
/// |             |                                        | 0: none; flag: of several locks               |
/// | ended       | it ended; flag: it was excused for     | number: the error, 0: none                    |
/// |             | being late (its process stood still)   |                                               |
/// | granted     | the user has the hold, which says held | owner, access, permits, token; flag: somebody |
/// |             |                                        | has deleted its node by hand                  |
/// | said_held   | it was asked, and said held, suspended |                                               |
/// | said_lost   | it was asked, and said lost; flag: its |                                               |
/// |             | token is stopped, or could not be yet  |                                               |
/// | told_lost   | its token was stopped                  |                                               |
/// | released    | the user gives it back, or is no more; |                                               |
/// |             | flag: gives it back while it says held |                                               |
/// | resigned    | its user ends a leadership that is not |                                               |
/// |             | lost                                   |                                               |
/// | taken       | somebody has deleted its node by hand  |                                               |
/// | counted     | the counts of an owner were asked for  | owner; number: the answer                     |
/// | made        | a contender's node                     | token: its czxid; access, permits; attempt;   |
/// |             |                                        | owner: the session; flag: by a stranger       |
/// | gone        | it went                                | token                                         |
/// | spoiled     | a client has deleted another's node,   | flag: of a name that was taken by hand before |
/// |             | or released one that holds nothing     |                                               |
/// | permits_set | how many there are                     | number                                        |
/// | written     | a resource has accepted a write        | token; flag: the lock node was there          |
/// | refused     | it has refused one; flag: the hold     | token                                         |
/// |             | said held at that time                 |                                               |
/// | commit_told | what became of a guarded transaction   | number: 0: written, 1: not, 2: unknown        |
/// | seen        | an observer (hold) was told of who     | token: none, nobody; number: of what a leader |
/// |             | holds alone, or leads there            | has said, 0: nothing, -1: something else      |
/// | healed      | there are no faults any more           |                                               |
/// | left        | something is left at rest              | text                                          |
/// | rest        | the end                                |                                               |
/// | fault       | one was injected (for people)          | text                                          |
struct Event {
  enum class Kind : std::uint8_t {
    wanted,
    ended,
    granted,
    said_held,
    said_lost,
    told_lost,
    released,
    resigned,
    taken,
    counted,
    made,
    gone,
    spoiled,
    permits_set,
    written,
    refused,
    commit_told,
    seen,
    healed,
    left,
    rest,
    fault,
  };
  Instant at = {};
  Kind kind = Kind::rest;
  bool flag = false;
  Access access = Access::exclusive;
  std::uint32_t hold = 0;
  std::uint32_t resource = 0;
  std::uint64_t owner = 0;
  std::int32_t permits = 0;
  FencingToken token = {};
  std::int64_t number = 0;
  std::uint64_t attempt = 0;
  std::string text = {};
};

/// In the order of time.
using History = std::vector<Event>;

/// For people: one line, without an end.
std::string to_text(const Event& event, Instant start);

}  // namespace zklock::simulator
