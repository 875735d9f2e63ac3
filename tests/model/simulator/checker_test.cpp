// SPDX-License-Identifier: Apache-2.0
// Tests of the checker. Each history is made by hand, violates one invariant, and is reported for
// it.
#include "tests/model/simulator/checker.h"

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace zklock::simulator {
namespace {

using Kind = Event::Kind;
using namespace std::chrono_literals;

constexpr std::uint32_t kLock = 1;

/// A history with a millisecond between events.
class Made {
 public:
  Made& with(Event event) {
    event.at = now_;
    now_ += 1ms;
    if (event.resource == 0) event.resource = kLock;
    history_.push_back(std::move(event));
    return *this;
  }
  /// Adds an event at the time of the previous event.
  Made& and_with(Event event) {
    now_ -= 1ms;
    return with(std::move(event));
  }
  Made& node(std::int64_t czxid, Access access = Access::exclusive, std::int32_t permits = 0) {
    return with({.kind = Kind::made,
                 .access = access,
                 .permits = permits,
                 .token = {czxid},
                 .text = "lock-"});
  }
  Made& deleted(std::int64_t czxid) { return with({.kind = Kind::deleted, .token = {czxid}}); }
  Made& wanted(std::uint32_t hold) { return with({.kind = Kind::wanted, .hold = hold}); }
  Made& ended(std::uint32_t hold) { return with({.kind = Kind::ended, .hold = hold}); }
  Made& granted(std::uint32_t hold, std::int64_t token, Access access = Access::exclusive,
                std::int32_t permits = 0) {
    return with(grant(hold, token, access, permits));
  }
  static Event grant(std::uint32_t hold, std::int64_t token, Access access = Access::exclusive,
                     std::int32_t permits = 0) {
    return {.kind = Kind::granted,
            .access = access,
            .hold = hold,
            .resource = kLock,
            .owner = hold,
            .permits = permits,
            .token = {token}};
  }
  Made& held(std::uint32_t hold) { return with({.kind = Kind::said_held, .hold = hold}); }
  Made& lost(std::uint32_t hold, bool notified) {
    return with({.kind = Kind::said_lost, .flag = notified, .hold = hold});
  }
  Made& notified(std::uint32_t hold) { return with({.kind = Kind::notified, .hold = hold}); }
  Made& released(std::uint32_t hold, bool held = true) {
    return with({.kind = Kind::released, .flag = held, .hold = hold});
  }
  Made& rest() { return with({.kind = Kind::rest}); }

  std::string broken() const {
    const auto violation = check(history_);
    return violation ? violation->invariant : std::string();
  }

 private:
  Instant now_{1h};
  History history_;
};

TEST(Checker, HoldersInSequence_NoViolation) {
  EXPECT_EQ(Made()
                .wanted(1)
                .node(10)
                .ended(1)
                .granted(1, 10)
                .wanted(2)
                .node(11)
                .notified(1)
                .lost(1, true)
                .deleted(10)
                .ended(2)
                .granted(2, 11)
                .released(2)
                .deleted(11)
                .rest()
                .broken(),
            "");
}

TEST(Checker, TwoHolders_ViolateI1) {
  EXPECT_EQ(Made().granted(1, 10).held(1).and_with(Made::grant(2, 11)).broken(), "I1");
}

TEST(Checker, PausedHolderContinues_ViolatesI1) {
  EXPECT_EQ(Made().granted(1, 10).granted(2, 11).released(2).held(1).broken(), "I1");
}

TEST(Checker, ReaderAndWriterHold_ViolatesI1) {
  EXPECT_EQ(Made()
                .granted(1, 10, Access::shared)
                .held(1)
                .and_with(Made::grant(2, 11, Access::shared))
                .broken(),
            "");
  EXPECT_EQ(Made().granted(1, 10, Access::shared).held(1).and_with(Made::grant(2, 11)).broken(),
            "I1");
}

TEST(Checker, MorePermitsThanExist_ViolatesI1) {
  Made made;
  made.with({.kind = Kind::permits_set, .number = 3})
      .granted(1, 10, Access::permits, 2)
      .held(1)
      .and_with(Made::grant(2, 11, Access::permits, 1));
  EXPECT_EQ(made.broken(), "");
  made.held(1).held(2);
  made.and_with({.kind = Kind::said_held, .hold = 1});
  made.and_with(Made::grant(3, 12, Access::permits, 1));
  EXPECT_EQ(made.broken(), "I1");
}

TEST(Checker, NestedHold_HasNoPermitsOfItsOwn) {
  const auto nested_of = [](std::uint64_t owner) {
    Event nested = Made::grant(2, 10, Access::permits, 2);
    nested.owner = owner;
    return Made()
        .with({.kind = Kind::permits_set, .number = 3})
        .granted(1, 10, Access::permits, 2)
        .held(1)
        .and_with(nested);
  };
  EXPECT_EQ(nested_of(1).broken(), "");
  EXPECT_EQ(nested_of(2).broken(), "I2");
}

TEST(Checker, ZnodeDeletedByHand_IsExcusedOnce) {
  const auto taken = [](Made made) {
    made.with({.kind = Kind::taken, .hold = 1}).held(1).and_with(Made::grant(2, 11));
    return made;
  };
  EXPECT_EQ(taken(Made().granted(1, 10)).broken(), "");
  EXPECT_EQ(taken(Made().granted(1, 10)).rest().broken(), "I9")
      << "the holder is notified in the end";
  EXPECT_EQ(taken(Made().granted(1, 10)).held(2).and_with(Made::grant(3, 12)).broken(), "I1");
}

TEST(Checker, LowerToken_ViolatesI2) {
  EXPECT_EQ(Made().granted(1, 10).released(1).granted(2, 9).broken(), "I2");
}

TEST(Checker, TokenOfTwoOwners_ViolatesI2) {
  EXPECT_EQ(Made().granted(1, 10).released(1).granted(2, 10).broken(), "I2");
}

TEST(Checker, CountsNotReleased_ViolateI3) {
  Made made;
  made.granted(1, 10).with({.kind = Kind::counted, .owner = 1, .number = 1});
  EXPECT_EQ(made.broken(), "");
  made.notified(1).lost(1, true).with({.kind = Kind::counted, .owner = 1, .number = 1});
  EXPECT_EQ(made.broken(), "I3");
}

TEST(Checker, LossNotifiedTwiceOrNeverOrLate_ViolatesI4) {
  EXPECT_EQ(Made().granted(1, 10).notified(1).notified(1).broken(), "I4");
  EXPECT_EQ(Made().granted(1, 10).lost(1, true).rest().broken(), "I4");
  EXPECT_EQ(Made().granted(1, 10).lost(1, false).broken(), "I4");
  EXPECT_EQ(Made().granted(1, 10).notified(1).lost(1, true).held(1).broken(), "I4");
  EXPECT_EQ(Made().granted(1, 10).notified(1).held(1).broken(), "I4");
}

TEST(Checker, WriteWithOlderToken_ViolatesI5) {
  Made made;
  made.with({.kind = Kind::written, .token = {10}}).with({.kind = Kind::written, .token = {9}});
  EXPECT_EQ(made.broken(), "I5");
}

TEST(Checker, HolderRefused_ViolatesI5) {
  EXPECT_EQ(Made().with({.kind = Kind::refused, .flag = true, .hold = 1}).broken(), "I5");
  EXPECT_EQ(Made().with({.kind = Kind::refused, .flag = false, .hold = 1}).broken(), "");
}

TEST(Checker, FalseCommitOutcome_ViolatesI5) {
  const Event done{.kind = Kind::written, .flag = true, .token = {10}, .number = 5};
  Event unguarded = done;
  unguarded.flag = false;
  EXPECT_EQ(Made().with(unguarded).broken(), "I5");
  EXPECT_EQ(Made().with(done).with({.kind = Kind::committed, .hold = 5}).broken(), "");
  EXPECT_EQ(Made().with(done).with({.kind = Kind::committed, .hold = 5, .number = 1}).broken(),
            "I5");
  EXPECT_EQ(Made().with({.kind = Kind::committed, .hold = 5}).broken(), "I5");
}

TEST(Checker, ObserverSeesPastState_IsViolation) {
  const auto seen = [](std::int64_t leader, std::int64_t number) {
    return Event{.kind = Kind::seen, .hold = 7, .token = {leader}, .number = number};
  };
  const auto said = [](std::int64_t leader, std::int64_t number) {
    return Event{.kind = Kind::written, .flag = true, .token = {leader}, .number = number};
  };
  Made made;
  made.with(said(10, 1)).with(said(10, 2)).with(said(11, 3)).with(seen(0, 0));
  made.with(seen(10, 0)).with(seen(10, 1)).with(seen(10, 2));
  const auto then = [&made](const Event& event) { return Made(made).with(event).broken(); };
  EXPECT_EQ(then(seen(11, 0)), "");
  EXPECT_EQ(then(seen(11, 3)), "");
  EXPECT_EQ(then(seen(9, 0)), "I2") << "a former leader";
  EXPECT_EQ(then(seen(10, 1)), "I2") << "an older value";
  EXPECT_EQ(then(seen(10, 0)), "I2") << "no value after a value";
  EXPECT_EQ(then(seen(11, 2)), "I5") << "the value of another leader";
  EXPECT_EQ(then(seen(11, 4)), "I5") << "a value that was not written";
  EXPECT_EQ(then(seen(0, 2)), "I5") << "a value without a leader";
  Made refused = made;
  refused.with({.kind = Kind::fault, .text = "no_auth"}).with(seen(10, 0));
  EXPECT_EQ(refused.broken(), "") << "a listener without READ gets no value";
  EXPECT_EQ(Made(refused).with(seen(10, 2)).broken(), "");
  EXPECT_EQ(Made(refused).with(seen(10, 1)).broken(), "I2") << "an older value";
  made.with(seen(0, 0));
  EXPECT_EQ(then(seen(10, 2)), "I2") << "a deleted leader";
  EXPECT_EQ(then(seen(11, 0)), "");
}

TEST(Checker, ContenderOvertaken_IsViolation) {
  EXPECT_EQ(Made().node(10).node(11).granted(1, 11).released(1).granted(2, 10).broken(), "I2");
  EXPECT_EQ(Made().node(10).node(11).granted(1, 11).deleted(10).broken(), "")
      << "a grant that no call takes is not recorded";
  EXPECT_EQ(Made().node(10).node(11).granted(1, 10).released(1).granted(2, 11).broken(), "")
      << "its znode still exists";
  EXPECT_EQ(Made().node(10).node(11).granted(1, 10).released(1, false).granted(2, 11).broken(),
            "I6")
      << "the holder died or lost the lock";
  EXPECT_EQ(Made()
                .node(10)
                .node(11)
                .node(12)
                .granted(1, 10)
                .released(1)
                .granted(2, 12)
                .released(2)
                .granted(3, 11)
                .broken(),
            "I2")
      << "a waiter is overtaken";
  Event of_another = {.kind = Kind::made, .owner = 7, .token = {12}, .text = "lock-"};
  EXPECT_EQ(Made().node(10).with(of_another).granted(1, 10).released(1).granted(2, 12).broken(),
            "I6")
      << "a contender of another session waits for the delete";
  Event writer = {.kind = Kind::made, .token = {12}, .text = "__WRIT__"};
  EXPECT_EQ(Made().node(10).with(writer).granted(1, 10).released(1).granted(2, 12).broken(), "I6")
      << "a writer waits for the delete";
  EXPECT_EQ(Made()
                .node(10)
                .node(11)
                .with(of_another)
                .granted(1, 10)
                .released(1)
                .granted(2, 11)
                .released(2)
                .deleted(11)
                .granted(3, 12)
                .broken(),
            "")
      << "its own session has overtaken it before";
  Made part;
  part.node(10).node(11).with(of_another).granted(1, 10);
  EXPECT_EQ(Made(part).released(1).deleted(11).granted(3, 12).broken(), "")
      << "its own session has overtaken it, by a partial hold of a composite lock";
  EXPECT_EQ(Made(part).deleted(11).released(1).granted(3, 12).broken(), "I6")
      << "its own session stopped waiting before the release";
  Event nested = Made::grant(2, 10);
  nested.owner = 1;
  EXPECT_EQ(
      Made().node(10).granted(1, 10).with(nested).released(1).node(11).granted(3, 11).broken(),
      "I6")
      << "one of two holds remains";
}

// Two waiters of one session are behind a holder. The later one is cancelled. Another session is
// granted before the earlier one, which still waits.
TEST(Checker, WaiterOvertakenAfterCancelOfAnother_IsViolation) {
  Event of_another = {.kind = Kind::made, .owner = 7, .token = {12}, .text = "lock-"};
  Event holder = {.kind = Kind::made, .owner = 7, .token = {9}, .text = "lock-"};
  EXPECT_EQ(Made()
                .with(holder)
                .granted(1, 9)
                .wanted(2)
                .node(10)
                .wanted(3)
                .node(11)
                .with(of_another)
                .ended(3)
                .deleted(11)
                .released(1)
                .deleted(9)
                .granted(4, 12)
                .broken(),
            "I6");
}

TEST(Checker, DeletedOrSharedContenderOvertaken_IsNoViolation) {
  EXPECT_EQ(Made().node(10).deleted(10).node(11).granted(1, 11).broken(), "");
  EXPECT_EQ(Made()
                .node(10, Access::shared)
                .node(11, Access::shared)
                .granted(1, 11, Access::shared)
                .broken(),
            "");
}

TEST(Checker, RequestForMorePermitsOvertaken_IsViolation) {
  EXPECT_EQ(Made()
                .with({.kind = Kind::permits_set, .number = 2})
                .node(10, Access::permits, 2)
                .node(11, Access::permits, 1)
                .granted(1, 11, Access::permits, 1)
                .broken(),
            "I6");
}

TEST(Checker, TwoZnodesOfOneAttempt_ViolateI7) {
  const Event node{.kind = Kind::made, .token = {10}, .attempt = 77};
  Event other = node;
  other.token = {11};
  EXPECT_EQ(Made().with(node).with(other).broken(), "I7");
  EXPECT_EQ(Made().with(node).deleted(10).with(other).broken(), "");
}

TEST(Checker, ForeignZnodeDeleted_ViolatesI7) {
  EXPECT_EQ(Made().with({.kind = Kind::spoiled}).broken(), "I7");
  EXPECT_EQ(Made()
                .granted(1, 10)
                .with({.kind = Kind::spoiled, .flag = true})
                .held(1)
                .and_with(Made::grant(2, 11))
                .broken(),
            "")
      << "the path was deleted by hand before";
}

TEST(Checker, ZnodeLeft_ViolatesI8) {
  EXPECT_EQ(Made().with({.kind = Kind::left, .text = "a node"}).broken(), "I8");
}

TEST(Checker, MetricsContradictEachOther_ViolateI10) {
  EXPECT_EQ(Made().with({.kind = Kind::miscounted, .text = "a hold"}).broken(), "I10");
}

TEST(Checker, CallEndsTwiceOrNeverOrLate_ViolatesI9) {
  EXPECT_EQ(Made().wanted(1).ended(1).ended(1).broken(), "I9");
  EXPECT_EQ(Made().wanted(1).rest().broken(), "I9");
  EXPECT_EQ(Made().granted(1, 10).rest().broken(), "I9");
  const Instant deadline{1h + 5ms};
  Made late;
  late.with(
      {.kind = Kind::wanted, .hold = 1, .number = Duration(deadline.time_since_epoch()).count()});
  for (int i = 0; i < 40; ++i) late.with({.kind = Kind::fault});
  late.ended(1);
  EXPECT_EQ(late.broken(), "I9");
}

}  // namespace
}  // namespace zklock::simulator
