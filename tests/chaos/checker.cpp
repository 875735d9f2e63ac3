// SPDX-License-Identifier: Apache-2.0
#include "chaos/checker.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace zklock::chaos {
namespace {

constexpr Nanos kLongAgo = std::numeric_limits<Nanos>::min();

class Findings {
 public:
  void add(const std::string& what, const Grant& grant) { add(what + ": " + describe(grant)); }
  void add(const std::string& what, const Grant& one, const Grant& other) {
    add(what + ": " + describe(one) + " | " + describe(other));
  }
  void add(std::string what) {
    if (all_.size() < kMost) all_.push_back(std::move(what));
  }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<std::string> all_;
};

// Returns the grants of each lock in the order of their tokens. A grant that an excuse covers ends
// at the time of the excuse.
std::vector<std::vector<Grant>> by_token(const History& history) {
  std::vector<std::vector<Grant>> locks(history.capacities.size());
  for (Grant grant : history.grants) {
    for (const Excuse& excuse : history.excuses) {
      if (excuse.covers(grant)) grant.last = std::min(grant.last, excuse.from);
    }
    locks.at(grant.lock).push_back(grant);
  }
  for (auto& lock : locks) {
    std::sort(lock.begin(), lock.end(), [](const Grant& a, const Grant& b) {
      return std::tie(a.token, a.first) < std::tie(b.token, b.first);
    });
  }
  return locks;
}

// Among the grants considered so far, the one with the largest value.
class Furthest {
 public:
  void consider(const Grant& grant, Nanos how_far) {
    if (how_far <= reach_) return;
    reach_ = how_far;
    grant_ = &grant;
  }
  Nanos reach() const { return reach_; }
  const Grant& grant() const { return *grant_; }

 private:
  Nanos reach_ = kLongAgo;
  const Grant* grant_ = nullptr;
};

void check_order(const std::vector<Grant>& grants, int capacity, Findings& findings) {
  Furthest over;         // by its last valid moment
  Furthest exclusive;    // likewise, among grants of the whole lock
  Furthest latest_call;  // by the begin of its call
  const Grant* before = nullptr;
  for (const Grant& grant : grants) {
    if (before != nullptr && before->token == grant.token && before->owner != grant.owner) {
      findings.add("two owners have one token", *before, grant);
    }
    before = &grant;
    if (!grant.seen_valid()) continue;
    const bool whole = grant.weight >= capacity;
    const Furthest& limit = whole ? over : exclusive;
    if (grant.first < limit.reach()) {
      findings.add("granted while a lower token held, or before it", limit.grant(), grant);
    }
    if (grant.first < latest_call.reach()) {
      findings.add("a call that began later has a lower token", latest_call.grant(), grant);
    }
    over.consider(grant, grant.last);
    if (whole) exclusive.consider(grant, grant.last);
    latest_call.consider(grant, grant.call);
  }
}

void check_capacity(const std::vector<Grant>& grants, int capacity, Findings& findings) {
  // At equal times, ends are sorted before begins.
  std::vector<std::tuple<Nanos, int, const Grant*>> changes;
  for (const Grant& grant : grants) {
    if (grant.last <= grant.first) continue;
    changes.emplace_back(grant.first, grant.weight, &grant);
    changes.emplace_back(grant.last, -grant.weight, &grant);
  }
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  int taken = 0;
  for (const auto& [when, change, grant] : changes) {
    taken += change;
    if (change > 0 && taken > capacity) findings.add("more is held than there is", *grant);
  }
}

void check_refusals(const std::vector<Grant>& grants, Findings& findings) {
  for (const Grant& grant : grants) {
    if (grant.refused != 0 && grant.refused <= grant.last) {
      findings.add("a valid holder was refused by its resource", grant);
    }
  }
}

void check_losses(const History& history, Findings& findings) {
  std::map<std::tuple<std::size_t, FencingToken, std::uint64_t>, int> notices;
  for (const LossNotice& notice : history.notices) {
    if (++notices[{notice.lock, notice.token, notice.owner}] == 2) {
      findings.add("a listener was notified twice of a loss, token " +
                   std::to_string(notice.token.zxid));
    }
  }
  for (const Grant& grant : history.grants) {
    if (grant.notified > 1) findings.add("a stop token notified twice of a loss", grant);
    if (grant.end != End::lost) continue;
    if (grant.notified == 0) findings.add("a stop token did not notify of a loss", grant);
    const bool received_all = grant.listened && history.finished.contains(life_of(grant.id));
    if (received_all && !notices.contains({grant.lock, grant.token, grant.owner})) {
      findings.add("a listener was not notified of a loss", grant);
    }
  }
}

void check_visits(const History& history, Findings& findings) {
  struct Seen {
    FencingToken written;
    FencingToken any;
  };
  std::vector<Seen> resources(history.capacities.size());
  for (const Visit& visit : history.visits) {
    Seen& seen = resources.at(visit.lock);
    // A reader's token may be lower than another reader's, but not than a writer's.
    const bool stale = visit.token < (visit.reading ? seen.written : seen.any);
    if (visit.accepted == stale) {
      findings.add(std::string(stale ? "a resource accepted an old token: "
                                     : "a resource refused a token that is not old: ") +
                   "lock " + std::to_string(visit.lock) + " token " +
                   std::to_string(visit.token.zxid));
    }
    if (!visit.accepted) continue;
    seen.any = std::max(seen.any, visit.token);
    if (!visit.reading) seen.written = std::max(seen.written, visit.token);
  }
}

}  // namespace

std::vector<std::string> check(const History& history) {
  Findings findings;
  for (const std::string& claim : history.claims) findings.add(claim);
  const auto locks = by_token(history);
  for (std::size_t lock = 0; lock < locks.size(); ++lock) {
    check_order(locks[lock], history.capacities[lock], findings);
    check_capacity(locks[lock], history.capacities[lock], findings);
    check_refusals(locks[lock], findings);
  }
  check_losses(history, findings);
  check_visits(history, findings);
  return findings.take();
}

}  // namespace zklock::chaos
