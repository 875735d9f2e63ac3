// SPDX-License-Identifier: Apache-2.0
#include "chaos/checker.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::chaos {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

// Returns whether a correct lock could have produced the grants, by trying every order of events.
// Each grant draws its token and begins between its call and the moment at which it was first seen.
// It ends after it was last seen.
class EveryOrder {
 public:
  EveryOrder(std::vector<Grant> grants, int capacity)
      : grants_(std::move(grants)),
        capacity_(capacity),
        tried_(std::size_t{1} << 3 * grants_.size()) {
    for (std::size_t i = 0; i < grants_.size(); ++i) indexes_.push_back(i);
  }

  bool exists() { return goes_on(0, std::numeric_limits<Nanos>::min()); }

 private:
  enum What : std::size_t { draw, begin, end };

  bool goes_on(std::size_t done, Nanos time) {
    if (done + 1 == tried_.size()) return true;
    // The earliest possible time is that of the latest event done. So it depends only on the set of
    // events done.
    if (tried_[done]) return false;
    tried_[done] = true;
    for (std::size_t i = 0; i < grants_.size(); ++i) {
      for (const What what : {draw, begin, end}) {
        if (has(done, i, what) || !may_be_next(done, i, what)) continue;
        const Nanos earliest = what == end ? grants_[i].last : grants_[i].call;
        const Nanos then = std::max(time, earliest);
        if (what != end && then > grants_[i].first) continue;
        if (goes_on(done | bit(i, what), then)) return true;
      }
    }
    return false;
  }

  bool may_be_next(std::size_t done, std::size_t i, What what) const {
    switch (what) {
      case draw:
        // Tokens are drawn in increasing order.
        return std::none_of(indexes_.begin(), indexes_.end(), [&](std::size_t other) {
          return has(done, other, draw) && grants_[other].token > grants_[i].token;
        });
      case begin: return has(done, i, draw) && may_begin(done, i);
      case end: return has(done, i, begin);
    }
    return false;
  }

  bool may_begin(std::size_t done, std::size_t i) const {
    int taken = grants_[i].weight;
    for (const std::size_t other : indexes_) {
      if (other == i) continue;
      const bool over = has(done, other, end);
      if (has(done, other, begin) && !over) taken += grants_[other].weight;
      const bool alone = grants_[i].weight == capacity_ || grants_[other].weight == capacity_;
      if (alone && grants_[other].token < grants_[i].token && !over) return false;
    }
    return taken <= capacity_;
  }

  static std::size_t bit(std::size_t i, What what) { return std::size_t{1} << (3 * i + what); }
  static bool has(std::size_t done, std::size_t i, What what) { return (done & bit(i, what)) != 0; }

  const std::vector<Grant> grants_;
  const int capacity_;
  std::vector<std::size_t> indexes_;
  std::vector<bool> tried_;
};

// The history of a correct lock with a random order of events.
class GoodHistory {
 public:
  GoodHistory(std::size_t size, int capacity, Random& random)
      : capacity_(capacity), random_(random), grants_(size), steps_(size) {
    for (std::size_t i = 0; i < size; ++i) {
      grants_[i].owner = i + 1;
      grants_[i].weight = weight();
    }
  }

  std::vector<Grant> make() {
    while (std::any_of(steps_.begin(), steps_.end(), [](int step) { return step < kSteps; })) {
      const std::size_t i = below(random_, grants_.size());
      if (steps_[i] < kSteps && (steps_[i] != kBegins || may_begin(i))) advance(i);
    }
    return grants_;
  }

 private:
  // call, token, begin, first seen, last seen, end
  static constexpr int kBegins = 2;
  static constexpr int kEnds = 5;
  static constexpr int kSteps = 6;

  int weight() {
    if (capacity_ < 3) return 1;
    if (capacity_ == 3) return 1 + static_cast<int>(below(random_, 3));
    return below(random_, 2) == 0 ? 1 : capacity_;
  }

  bool may_begin(std::size_t i) const {
    int taken = grants_[i].weight;
    for (std::size_t other = 0; other < grants_.size(); ++other) {
      const bool over = steps_[other] > kEnds;
      if (other == i || over || steps_[other] < kBegins) continue;
      if (steps_[other] > kBegins) taken += grants_[other].weight;
      const bool alone = std::max(grants_[i].weight, grants_[other].weight) == capacity_;
      if (alone && grants_[other].token < grants_[i].token) return false;
    }
    return taken <= capacity_;
  }

  void advance(std::size_t i) {
    Grant& grant = grants_[i];
    ++time_;
    switch (steps_[i]++) {
      case 0: grant.call = time_; break;
      case 1: grant.token.zxid = time_; break;
      case 3: grant.first = time_; break;
      case 4: grant.last = time_; break;
      default: break;
    }
  }

  const int capacity_;
  Random& random_;
  std::vector<Grant> grants_;
  std::vector<int> steps_;
  Nanos time_ = 0;
};

// Changes one value of the history. All moments stay distinct.
void corrupt(std::vector<Grant>& grants, Random& random) {
  Grant& one = grants[below(random, grants.size())];
  Grant& other = grants[below(random, grants.size())];
  const auto moment = static_cast<Nanos>(below(random, 6 * grants.size()));
  switch (below(random, 4)) {
    case 0: std::swap(one.token, other.token); break;
    case 1: one.call = std::min(moment, one.first); break;
    case 2: one.first = std::clamp(moment, one.call, one.last); break;
    default: one.last = std::max(moment, one.first); break;
  }
}

bool moments_differ(const std::vector<Grant>& grants) {
  std::vector<Nanos> moments;
  for (const Grant& grant : grants) {
    moments.insert(moments.end(), {grant.call, grant.first, grant.last});
  }
  std::sort(moments.begin(), moments.end());
  return std::adjacent_find(moments.begin(), moments.end()) == moments.end();
}

History history_of(std::vector<Grant> grants, int capacity) {
  History history;
  history.capacities = {capacity};
  history.grants = std::move(grants);
  return history;
}

class Checker : public ::testing::TestWithParam<int> {
 protected:
  Random random_{static_cast<std::uint64_t>(GetParam())};
};

TEST_P(Checker, CorrectHistory_HasNoViolation) {
  for (int i = 0; i < 2000; ++i) {
    const auto grants = GoodHistory(4, GetParam(), random_).make();
    EXPECT_EQ(check(history_of(grants, GetParam())), std::vector<std::string>{});
  }
}

TEST_P(Checker, RandomHistory_AgreesWithTryingEveryOrder) {
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 20000; ++i) {
    auto grants = GoodHistory(4, GetParam(), random_).make();
    for (std::size_t times = below(random_, 4); times > 0; --times) corrupt(grants, random_);
    if (!moments_differ(grants)) continue;
    const bool possible = EveryOrder(grants, GetParam()).exists();
    const auto found = check(history_of(grants, GetParam()));
    EXPECT_EQ(found.empty(), possible) << (found.empty() ? describe(grants[0]) : found[0]);
    ++(possible ? good : bad);
  }
  EXPECT_GT(good, 1000);
  EXPECT_GT(bad, 1000);
}

// A mutex, a semaphore of three permits, readers and writers.
INSTANTIATE_TEST_SUITE_P(Capacities, Checker, ::testing::Values(1, 3, 100));

class Rules : public ::testing::Test {
 protected:
  static Grant grant(std::int64_t token, Nanos first, Nanos last) {
    Grant grant;
    grant.id = grant_id(1, 2, 3, static_cast<std::uint64_t>(token));
    grant.owner = static_cast<std::uint64_t>(token);
    grant.session = token;
    grant.token.zxid = token;
    grant.call = grant.first = first;
    grant.last = last;
    grant.end = End::released;
    return grant;
  }
  // Returns the first finding.
  static std::string found(const History& history) {
    const auto all = check(history);
    return all.empty() ? "" : all.front().substr(0, all.front().find(':'));
  }
};

TEST_F(Rules, OverlappingGrants_AreFound) {
  EXPECT_EQ(found(history_of({grant(1, 10, 20), grant(2, 19, 30)}, 1)),
            "granted while a lower token held, or before it");
  EXPECT_EQ(found(history_of({grant(1, 10, 20), grant(2, 21, 30)}, 1)), "");
}

TEST_F(Rules, TokensAgainstTime_AreFound) {
  EXPECT_EQ(found(history_of({grant(2, 10, 20), grant(1, 21, 30)}, 1)),
            "granted while a lower token held, or before it");
}

TEST_F(Rules, OneTokenOfTwoOwners_IsFound) {
  auto other = grant(1, 21, 30);
  other.owner = 7;
  EXPECT_EQ(found(history_of({grant(1, 10, 20), other}, 1)), "two owners have one token");
  EXPECT_EQ(found(history_of({grant(1, 10, 20), grant(1, 21, 30)}, 1)), "");  // a downgrade
}

TEST_F(Rules, GrantNeverSeenValid_IsNotCounted) {
  EXPECT_EQ(found(history_of({grant(1, 10, 9), grant(2, 5, 30)}, 1)), "");
}

TEST_F(Rules, NodeOrSessionRemoved_OverlapIsExcused) {
  auto history = history_of({grant(1, 10, 20), grant(2, 15, 30)}, 1);
  history.excuses = {{.session = 0, .lock = 0, .zxid_from = 1, .zxid_to = 1, .from = 14}};
  EXPECT_EQ(found(history), "");
  history.excuses[0].zxid_to = 0;
  EXPECT_NE(found(history), "");
  history.excuses = {{.session = 1, .from = 14}};
  EXPECT_EQ(found(history), "");
  history.excuses[0].from = 16;
  EXPECT_NE(found(history), "");
}

TEST_F(Rules, ValidHolderRefused_IsFound) {
  auto refused = grant(1, 10, 20);
  refused.refused = 15;
  EXPECT_EQ(found(history_of({refused}, 1)), "a valid holder was refused by its resource");
  refused.refused = 21;
  EXPECT_EQ(found(history_of({refused}, 1)), "");
}

TEST_F(Rules, LossNotNotifiedOnce_IsFound) {
  auto lost = grant(1, 10, 20);
  lost.end = End::lost;
  EXPECT_EQ(found(history_of({lost}, 1)), "a stop token did not notify of a loss");
  lost.notified = 1;
  EXPECT_EQ(found(history_of({lost}, 1)), "");
  lost.notified = 2;
  EXPECT_EQ(found(history_of({lost}, 1)), "a stop token notified twice of a loss");

  lost.notified = 1;
  lost.listened = true;
  auto history = history_of({lost}, 1);
  EXPECT_EQ(found(history), "") << "the process ended before";
  history.finished = {life_of(1, 2)};
  EXPECT_EQ(found(history), "a listener was not notified of a loss");
  history.notices = {{.lock = 0, .owner = 1, .token = lost.token}};
  EXPECT_EQ(found(history), "");
  history.notices.push_back(history.notices[0]);
  EXPECT_EQ(found(history), "a listener was notified twice of a loss, token 1");
}

TEST_F(Rules, WrongAcceptOrRefusal_IsFound) {
  const auto visit = [](std::int64_t token, bool reading, bool accepted) {
    return Visit{.token = {.zxid = token}, .reading = reading, .accepted = accepted};
  };
  History history;
  history.capacities = {1};
  history.visits = {visit(5, false, true), visit(4, false, false), visit(5, false, true)};
  EXPECT_EQ(found(history), "");
  // Readers come in any order. But no reader is behind a later writer, and no writer behind any
  // later token.
  history.visits = {visit(5, false, true), visit(8, true, true),   visit(6, true, true),
                    visit(4, true, false), visit(7, false, false), visit(9, false, true)};
  EXPECT_EQ(found(history), "");
  history.visits = {visit(5, false, true), visit(4, false, true)};
  EXPECT_EQ(found(history), "a resource accepted an old token");
  history.visits = {visit(5, true, true), visit(4, false, true)};
  EXPECT_EQ(found(history), "a resource accepted an old token");
  history.visits = {visit(5, false, true), visit(6, false, false)};
  EXPECT_EQ(found(history), "a resource refused a token that is not old");
}

TEST_F(Rules, Claim_IsAViolation) {
  History history;
  history.claims = {"seen"};
  EXPECT_EQ(found(history), "seen");
}

}  // namespace
}  // namespace zklock::chaos
