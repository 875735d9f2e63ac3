// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "chaos/workload.h"
#include "zklock/fencing_token.h"

namespace zklock::chaos {

// How a grant ended, as its holder saw it. `open`: the process ended first.
enum class End { open, released, lost };

// One grant of a lock. The holder is known to have held from `first` to `last`: its Hold said so
// just before `first` and just after `last`.
struct Grant {
  GrantId id = 0;
  std::size_t lock = 0;
  int weight = 1;  // parts of the lock
  std::uint64_t owner = 0;
  FencingToken token;
  Nanos call = 0;  // begin of the call
  Nanos first = 0;
  Nanos last = 0;  // before `first`: never seen valid
  std::int64_t session = 0;
  Nanos refused = 0;  // after the holder's first refused write; 0: none
  End end = End::open;
  int notified = 0;       // how often the stop token fired
  bool listened = false;  // whether a listener also reports losses

  bool seen_valid() const { return last >= first; }
};

// A call of a listener for the loss of a grant.
struct LossNotice {
  std::size_t lock = 0;
  std::uint64_t owner = 0;
  FencingToken token;
};

// A visit of a resource. The history has them in the order of their arrival.
struct Visit {
  std::size_t lock = 0;
  FencingToken token;
  bool reading = false;
  bool accepted = false;
};

// A znode or session was taken away from outside. No lease protects the holder then; only its token
// does.
struct Excuse {
  std::int64_t session = 0;  // all grants of it; 0: these znodes of one lock
  std::size_t lock = 0;
  std::int64_t zxid_from = 0;
  std::int64_t zxid_to = 0;
  Nanos from = 0;

  bool covers(const Grant& grant) const {
    if (session != 0) return grant.session == session;
    return grant.lock == lock && grant.token.zxid >= zxid_from && grant.token.zxid <= zxid_to;
  }
};

// All events of a run.
struct History {
  std::vector<int> capacities;  // of each lock
  std::vector<Grant> grants;
  std::vector<LossNotice> notices;
  std::vector<Visit> visits;
  std::vector<Excuse> excuses;
  std::set<std::uint32_t> finished;  // lives that ended in good order: see life_of()
  std::vector<std::string> claims;   // violations that clients and the conductor saw
};

// Returns "lock 3 token 17.2 ..." for a message.
std::string describe(const Grant& grant);

// Writes one line for each event, to be kept after a violation.
void write(std::ostream& out, const History& history);

}  // namespace zklock::chaos
