// SPDX-License-Identifier: Apache-2.0
// Tests of the checker. Each history is made by hand, violates one invariant, and is reported for
// it.
#include "tests/model/checker.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using EventKind = Event::Kind;

constexpr std::uint32_t kLock = 1;

/// The events of a history by their words. The other words of an event are:
///
/// | word                           | field                                                       |
/// |--------------------------------|-------------------------------------------------------------|
/// | `#1`, `@10`, `by:7`            | hold, token, owner. The owner of a grant is its hold        |
/// | `permits:2`, `shared`          | permits or access                                           |
/// | `number:5`, `attempt:77`       | number, attempt                                             |
/// | `text:lock-`                   | text. A node without it is a mutex's                        |
/// | `guarded`, `held`, `by_hand`,  | flag: true                                                  |
/// | `refuses_reads`, `announced`   |                                                             |
/// | `not_held`, `not_notified`     | flag: false. It is true for `released` and `lost`           |
/// | `and`                          | at the time of the event before, not a millisecond later    |
const std::map<std::string, EventKind> kKinds = {
    {"wanted", EventKind::wanted},       {"ended", EventKind::ended},
    {"granted", EventKind::granted},     {"held", EventKind::said_held},
    {"lost", EventKind::said_lost},      {"notified", EventKind::notified},
    {"released", EventKind::released},   {"taken", EventKind::taken},
    {"counted", EventKind::counted},     {"node", EventKind::made},
    {"deleted", EventKind::deleted},     {"spoiled", EventKind::spoiled},
    {"permits", EventKind::permits_set}, {"written", EventKind::written},
    {"refused", EventKind::refused},     {"committed", EventKind::committed},
    {"seen", EventKind::seen},           {"miscounted", EventKind::miscounted},
    {"left", EventKind::left},           {"rest", EventKind::rest},
    {"fault", EventKind::fault}};

void read_field(const std::string& word, Event& event) {
  const auto value = word.substr(word.find(':') + 1);
  if (word.starts_with("#")) {
    event.hold = static_cast<std::uint32_t>(std::stoul(word.substr(1)));
  } else if (word.starts_with("@")) {
    event.token = {std::stoll(word.substr(1))};
  } else if (word.starts_with("by:")) {
    event.owner = std::stoull(value);
  } else if (word.starts_with("permits:")) {
    event.access = Access::permits;
    event.permits = std::stoi(value);
  } else if (word == "shared") {
    event.access = Access::shared;
  } else if (word.starts_with("number:")) {
    event.number = std::stoll(value);
  } else if (word.starts_with("attempt:")) {
    event.attempt = std::stoull(value);
  } else if (word.starts_with("text:")) {
    event.text = value;
  } else if (word == "guarded" || word == "held" || word == "by_hand" || word == "refuses_reads" ||
             word == "announced") {
    event.flag = true;
  } else if (word == "not_held" || word == "not_notified") {
    event.flag = false;
  } else {
    throw std::invalid_argument(word);
  }
}

/// Returns the invariant that a history violates, or an empty string. `text`: its events, separated
/// by semicolons.
std::string broken(const std::string& text) {
  History history;
  Instant now{1h};
  std::istringstream events(text);
  for (std::string each; std::getline(events, each, ';');) {
    std::istringstream words(each);
    std::string word;
    if (!(words >> word)) continue;
    if (word == "and") {
      now -= 1ms;
      words >> word;
    }
    Event event{.at = now, .kind = kKinds.at(word), .resource = kLock};
    event.flag = event.kind == EventKind::released || event.kind == EventKind::said_lost;
    if (event.kind == EventKind::made) event.text = "lock-";
    while (words >> word) read_field(word, event);
    if (event.kind == EventKind::granted && event.owner == 0) event.owner = event.hold;
    history.push_back(event);
    now += 1ms;
  }
  const auto violation = check(history);
  return violation ? violation->invariant : std::string();
}

TEST(Checker, HoldersInSequence_NoViolation) {
  EXPECT_EQ(broken("wanted #1; node @10; ended #1; granted #1 @10; wanted #2; node @11; "
                   "notified #1; lost #1; deleted @10; ended #2; granted #2 @11; released #2; "
                   "deleted @11; rest"),
            "");
}

TEST(Checker, TwoHolders_ViolateI1) {
  EXPECT_EQ(broken("granted #1 @10; held #1; and granted #2 @11"), "I1");
}

TEST(Checker, PausedHolderContinues_ViolatesI1) {
  EXPECT_EQ(broken("granted #1 @10; granted #2 @11; released #2; held #1"), "I1");
}

TEST(Checker, ReaderAndWriterHold_ViolatesI1) {
  EXPECT_EQ(broken("granted #1 @10 shared; held #1; and granted #2 @11 shared"), "");
  EXPECT_EQ(broken("granted #1 @10 shared; held #1; and granted #2 @11"), "I1");
}

TEST(Checker, MorePermitsThanExist_ViolatesI1) {
  const std::string three =
      "permits number:3; granted #1 @10 permits:2; held #1; and granted #2 @11 permits:1";
  EXPECT_EQ(broken(three), "");
  EXPECT_EQ(broken(three + "; held #1; held #2; and held #1; and granted #3 @12 permits:1"), "I1");
}

TEST(Checker, NestedHold_HasNoPermitsOfItsOwn) {
  const std::string two =
      "permits number:3; granted #1 @10 permits:2; held #1; and granted #2 @10 ";
  EXPECT_EQ(broken(two + "permits:2 by:1"), "");
  EXPECT_EQ(broken(two + "permits:2 by:2"), "I2");
}

TEST(Checker, ZnodeDeletedByHand_IsExcusedOnce) {
  const std::string taken = "; taken #1; held #1; and granted #2 @11";
  EXPECT_EQ(broken("granted #1 @10" + taken), "");
  EXPECT_EQ(broken("granted #1 @10" + taken + "; rest"), "I9")
      << "the holder is notified in the end";
  EXPECT_EQ(broken("granted #1 @10" + taken + "; held #2; and granted #3 @12"), "I1");
}

TEST(Checker, Token_IncreasesAndHasOneOwner) {
  EXPECT_EQ(broken("granted #1 @10; released #1; granted #2 @9"), "I2");
  EXPECT_EQ(broken("granted #1 @10; released #1; granted #2 @10"), "I2");
}

TEST(Checker, CountsNotReleased_ViolateI3) {
  const std::string counted = "granted #1 @10; counted by:1 number:1";
  EXPECT_EQ(broken(counted), "");
  EXPECT_EQ(broken(counted + "; notified #1; lost #1; counted by:1 number:1"), "I3");
}

TEST(Checker, LossNotifiedTwiceOrNeverOrLate_ViolatesI4) {
  EXPECT_EQ(broken("granted #1 @10; notified #1; notified #1"), "I4");
  EXPECT_EQ(broken("granted #1 @10; lost #1; rest"), "I4");
  EXPECT_EQ(broken("granted #1 @10; lost #1 not_notified"), "I4");
  EXPECT_EQ(broken("granted #1 @10; notified #1; lost #1; held #1"), "I4");
  EXPECT_EQ(broken("granted #1 @10; notified #1; held #1"), "I4");
}

TEST(Checker, Resource_RefusesOlderTokensOnly) {
  EXPECT_EQ(broken("written @10; written @9"), "I5");
  EXPECT_EQ(broken("refused #1 held"), "I5");
  EXPECT_EQ(broken("refused #1"), "");
}

TEST(Checker, FalseCommitOutcome_ViolatesI5) {
  EXPECT_EQ(broken("written @10 number:5"), "I5") << "without the lock znode";
  EXPECT_EQ(broken("written @10 guarded number:5; committed #5"), "");
  EXPECT_EQ(broken("written @10 guarded number:5; committed #5 number:1"), "I5");
  EXPECT_EQ(broken("committed #5"), "I5");
}

TEST(Checker, ObserverSeesPastState_IsViolation) {
  const std::string made =
      "written @10 guarded number:1; written @10 guarded number:2; written @11 guarded number:3; "
      "seen #7; seen #7 @10; seen #7 @10 number:1; seen #7 @10 number:2; ";
  EXPECT_EQ(broken(made + "seen #7 @11"), "");
  EXPECT_EQ(broken(made + "seen #7 @11 number:3"), "");
  EXPECT_EQ(broken(made + "seen #7 @9"), "I2") << "a former leader";
  EXPECT_EQ(broken(made + "seen #7 @10 number:1"), "I2") << "an older value";
  EXPECT_EQ(broken(made + "seen #7 @10"), "I2") << "no value after a value";
  EXPECT_EQ(broken(made + "seen #7 @11 number:2"), "I5") << "the value of another leader";
  EXPECT_EQ(broken(made + "seen #7 @11 number:4"), "I5") << "a value that was not written";
  EXPECT_EQ(broken(made + "seen #7 number:2"), "I5") << "a value without a leader";
  const std::string refused = made + "fault refuses_reads; seen #7 @10; ";
  EXPECT_EQ(broken(refused), "") << "a listener without READ gets no value";
  EXPECT_EQ(broken(refused + "seen #7 @10 number:2"), "");
  EXPECT_EQ(broken(refused + "seen #7 @10 number:1"), "I2") << "an older value";
  EXPECT_EQ(broken(made + "seen #7; seen #7 @10 number:2"), "I2") << "a deleted leader";
  EXPECT_EQ(broken(made + "seen #7; seen #7 @11"), "");
}

TEST(Checker, ContenderOvertaken_IsViolation) {
  EXPECT_EQ(broken("node @10; node @11; granted #1 @11; released #1; granted #2 @10"), "I2");
  EXPECT_EQ(broken("node @10; node @11; granted #1 @11; deleted @10"), "")
      << "a grant that no call takes is not recorded";
  EXPECT_EQ(broken("node @10; node @11; granted #1 @10; released #1; granted #2 @11"), "")
      << "its znode still exists";
  EXPECT_EQ(broken("node @10; node @11; granted #1 @10; released #1 not_held; granted #2 @11"),
            "I6")
      << "the holder died or lost the lock";
  EXPECT_EQ(broken("node @10; node @11; node @12; granted #1 @10; released #1; granted #2 @12; "
                   "released #2; granted #3 @11"),
            "I2")
      << "a waiter is overtaken";
  EXPECT_EQ(broken("node @10; node @12 by:7; granted #1 @10; released #1; granted #2 @12"), "I6")
      << "a contender of another session waits for the delete";
  EXPECT_EQ(broken("node @10; node @12 text:__WRIT__; granted #1 @10; released #1; "
                   "granted #2 @12"),
            "I6")
      << "a writer waits for the delete";
  EXPECT_EQ(broken("node @10; node @11; node @12 by:7; granted #1 @10; released #1; "
                   "granted #2 @11; released #2; deleted @11; granted #3 @12"),
            "")
      << "its own session has overtaken it before";
  const std::string part = "node @10; node @11; node @12 by:7; granted #1 @10; ";
  EXPECT_EQ(broken(part + "released #1; deleted @11; granted #3 @12"), "")
      << "its own session has overtaken it, by a partial hold of a composite lock";
  const std::string parts = "node @10; node @11; node @12 by:7; ";
  EXPECT_EQ(broken(parts + "deleted @11 announced; granted #3 @12"), "")
      << "both are partial holds";
  EXPECT_EQ(broken(parts + "deleted @11; granted #3 @12"), "I6") << "both are waiters";
  EXPECT_EQ(broken(part + "deleted @11; released #1; granted #3 @12"), "I6")
      << "its own session stopped waiting before the release";
  EXPECT_EQ(broken("node @10; granted #1 @10; granted #2 @10 by:1; released #1; node @11; "
                   "granted #3 @11"),
            "I6")
      << "one of two holds remains";
}

// Two waiters of one session are behind a holder. The later one is cancelled. Another session is
// granted before the earlier one, which still waits.
TEST(Checker, WaiterOvertakenAfterCancelOfAnother_IsViolation) {
  EXPECT_EQ(broken("node @9 by:7; granted #1 @9; wanted #2; node @10; wanted #3; node @11; "
                   "node @12 by:7; ended #3; deleted @11; released #1; deleted @9; "
                   "granted #4 @12"),
            "I6");
}

TEST(Checker, DeletedOrSharedContenderOvertaken_IsNoViolation) {
  EXPECT_EQ(broken("node @10; deleted @10; node @11; granted #1 @11"), "");
  EXPECT_EQ(broken("node @10 shared; node @11 shared; granted #1 @11 shared"), "");
}

TEST(Checker, RequestForMorePermitsOvertaken_IsViolation) {
  EXPECT_EQ(broken("permits number:2; node @10 permits:2; node @11 permits:1; "
                   "granted #1 @11 permits:1"),
            "I6");
}

TEST(Checker, TwoZnodesOfOneAttempt_ViolateI7) {
  EXPECT_EQ(broken("node @10 attempt:77; node @11 attempt:77"), "I7");
  EXPECT_EQ(broken("node @10 attempt:77; deleted @10; node @11 attempt:77"), "");
}

TEST(Checker, ForeignZnodeDeleted_ViolatesI7) {
  EXPECT_EQ(broken("spoiled"), "I7");
  EXPECT_EQ(broken("granted #1 @10; spoiled by_hand; held #1; and granted #2 @11"), "")
      << "the path was deleted by hand before";
}

TEST(Checker, LeftAtRest_ViolatesI8OrI10) {
  EXPECT_EQ(broken("left text:node"), "I8");
  EXPECT_EQ(broken("miscounted text:hold"), "I10");
}

TEST(Checker, CallEndsTwiceOrNeverOrLate_ViolatesI9) {
  EXPECT_EQ(broken("wanted #1; ended #1; ended #1"), "I9");
  EXPECT_EQ(broken("wanted #1; rest"), "I9");
  EXPECT_EQ(broken("granted #1 @10; rest"), "I9");
  const Duration deadline = 1h + 5ms;
  std::string late = "wanted #1 number:" + std::to_string(deadline.count());
  for (int i = 0; i < 40; ++i) late += "; fault";
  EXPECT_EQ(broken(late + "; ended #1"), "I9");
}

}  // namespace
}  // namespace zklock::model
