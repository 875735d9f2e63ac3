// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/session.h"
#include "zklock/fencing_token.h"
#include "zklock/participant.h"
#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::model {

using core::Duration;
using core::Instant;

/// A fact with its time, by a clock that no process of the simulation has. `hold` is the number of
/// the hold or of the call. The third column lists the fields besides `hold` and `resource`.
///
/// | kind        | event                                | other fields                            |
/// |-------------|--------------------------------------|-----------------------------------------|
/// | wanted      | A call begins.                       | owner, access, permits; number: the     |
/// |             |                                      | deadline, 0: none; flag: of a composite |
/// |             |                                      | lock                                    |
/// | ended       | A call ends.                         | number: the error code, 0: none; flag:  |
/// |             |                                      | a late end is excused, because the      |
/// |             |                                      | process could not run                   |
/// | granted     | The program gets a hold, which says  | owner, access, permits, token; flag:    |
/// |             | `held`.                              | the lock znode was deleted by hand      |
/// | said_held   | A hold was queried, and says `held`  |                                         |
/// |             | or `suspended`.                      |                                         |
/// | said_lost   | A hold was queried, and says `lost`. | flag: the loss was notified, or need    |
/// |             |                                      | not be yet                              |
/// | notified    | The stop_token of a hold is stopped. |                                         |
/// | released    | The program releases a hold, or its  | flag: a release while the hold says     |
/// |             | process ends.                        | `held`                                  |
/// | resigned    | A program ends a leadership that is  |                                         |
/// |             | not lost.                            |                                         |
/// | taken       | The lock znode of a hold is deleted  |                                         |
/// |             | by hand.                             |                                         |
/// | counted     | The counts of an owner are queried.  | owner; number: the answer               |
/// | made        | A contender's znode is created.      | token: its czxid; access, permits;      |
/// |             |                                      | attempt; owner: the session; flag: by   |
/// |             |                                      | another program                         |
/// | deleted     | A contender's znode is deleted.      | token; flag: its release was announced  |
/// | spoiled     | A client deletes a znode of another  | flag: its name was deleted by hand      |
/// |             | session, or announces the release of | before                                  |
/// |             | a znode without a hold.              |                                         |
/// | permits_set | The number of permits is set.        | number                                  |
/// | written     | A resource accepts a write.          | token; flag: the lock znode exists      |
/// | refused     | A resource refuses a write.          | token; flag: the hold says `held` at    |
/// |             |                                      | that time                               |
/// | committed   | A guarded transaction completes.     | number: 0: written, 1: not written, 2:  |
/// |             |                                      | unknown                                 |
/// | seen        | An observer (`hold`) receives the    | token: none if there is none; number:   |
/// |             | exclusive holder or the leader.      | of the leader's value, 0: no value, -1: |
/// |             |                                      | not a value of the simulation           |
/// | miscounted  | The metrics of a client contradict   | text                                    |
/// |             | each other at rest.                  |                                         |
/// | healed      | From here on there are no faults.    |                                         |
/// | left        | Something is left at rest.           | text                                    |
/// | rest        | The history ends.                    |                                         |
/// | fault       | A fault is injected.                 | text; flag: reads can be refused        |
struct Event {
  enum class Kind : std::uint8_t {
    wanted,
    ended,
    granted,
    said_held,
    said_lost,
    notified,
    released,
    resigned,
    taken,
    counted,
    made,
    deleted,
    spoiled,
    permits_set,
    written,
    refused,
    committed,
    seen,
    miscounted,
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

/// In order of time.
using History = std::vector<Event>;

/// Returns the event `made`, without its resource, of the contender's znode `node`. `name`: its own.
/// Returns std::nullopt for the name of another znode. `by_stranger`: by another program than zklock,
/// whatever its data are.
std::optional<Event> contender_made(std::string_view name, const Node& node, bool by_stranger);

/// Returns one line for human readers, without a line end.
std::string to_text(const Event& event, Instant start);

}  // namespace zklock::model
