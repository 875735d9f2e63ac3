// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "chaos/course.h"
#include "zklock/fencing_token.h"

namespace zklock::chaos {

// How a grant ended, as its holder saw it. `open`: the process ended first.
enum class End { open, released, lost };

// One grant of a lock. From `first` to `last` the holder is known to have held: at both moments, or
// just after the one and just before the other, it was told so by its Hold.
struct Grant {
  GrantId id = 0;
  std::size_t lock = 0;
  int weight = 1;  // how many parts of the lock
  std::uint64_t owner = 0;
  FencingToken token;
  Nanos call = 0;  // when the call that brought it began
  Nanos first = 0;
  Nanos last = 0;  // before `first`: never seen to be valid
  std::int64_t session = 0;
  Nanos refused = 0;  // when a write of the holder had been refused for the first time; 0: never
  End end = End::open;
  int told = 0;           // how often its stop token was stopped, when it ended
  bool listened = false;  // whether losses are told to a listener, too

  bool seen_valid() const { return last >= first; }
};

// A listener was told of the loss of a grant.
struct LossNotice {
  std::size_t lock = 0;
  std::uint64_t owner = 0;
  FencingToken token;
};

// What came to a resource, in the order in which it came.
struct Visit {
  std::size_t lock = 0;
  FencingToken token;
  bool reading = false;
  bool accepted = false;
};

// Somebody took a node, or a session, away behind the holder's back: then no lease protects the
// holder, only its token does.
struct Excuse {
  std::int64_t session = 0;  // of all locks; 0: of one lock, these nodes
  std::size_t lock = 0;
  std::int64_t zxid_from = 0;
  std::int64_t zxid_to = 0;
  Nanos from = 0;

  bool covers(const Grant& grant) const {
    if (session != 0) return grant.session == session;
    return grant.lock == lock && grant.token.zxid >= zxid_from && grant.token.zxid <= zxid_to;
  }
};

// All that happened in a run.
struct History {
  std::vector<int> capacities;  // of each lock
  std::vector<Grant> grants;
  std::vector<LossNotice> notices;
  std::vector<Visit> visits;
  std::vector<Excuse> excuses;
  std::set<std::uint32_t> finished;  // lives of clients that came to a good end: see life_of()
  std::vector<std::string> claims;   // what clients and the conductor saw, and must not be
};

// "lock 3 token 17.2 ..." for a message.
std::string describe(const Grant& grant);

// One line for each thing, to be kept where something was found.
void write(std::ostream& out, const History& history);

}  // namespace zklock::chaos
