// SPDX-License-Identifier: Apache-2.0
// Znodes that another program created by hand, with names ahead of the sequence counter.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

class NameTaken : public PathLockTest {
 protected:
  void create(const std::string& name) {
    ASSERT_EQ(ensemble().create(child(name), {}, {}), Status::ok);
  }
  void remove(const std::string& name) { ASSERT_EQ(ensemble().remove(child(name)), Status::ok); }
  static std::string child(const std::string& name) {
    return std::string(LockWorld::kPath) + "/" + name;
  }
  /// Returns the next sequence number of the path.
  std::int32_t counter() { return ensemble().find(LockWorld::kPath)->counter; }
  /// Creates a znode by hand, which itself raises the counter. `later` creates of children after
  /// it, this name is the next one.
  void take_name(const std::string& prefix = "lock-", std::int32_t later = 0) {
    by_hand_ = core::ZnodeName::make(prefix, {counter() + 1 + later}).text;
    create(by_hand_);
  }
  void expect_refused(std::size_t call) {
    ASSERT_EQ(error(call), Errc::node_exists);
    const std::string what = lock_.call(call).error->what();
    EXPECT_NE(what.find(" " + by_hand_ + " "), std::string::npos) << what;
  }

  std::string by_hand_;
};

TEST_F(NameTaken, NextName_CallsFailUntilZnodeIsDeleted) {
  take_name();
  for (const std::optional<Duration> timeout : {std::optional<Duration>(), {0s}, {2min}}) {
    const auto call = lock_.acquire(0, {.timeout = timeout});
    run();
    expect_refused(call);
  }
  EXPECT_EQ(lock_.nodes().size(), 1U);
  EXPECT_EQ(client(0).requests(), 3U * 3U) << "create, count, list";
  remove(by_hand_);
  release(granted(0));
  expect_rest();
}

TEST_F(NameTaken, OtherChildCreated_ContendersWaitForTheZnode) {
  take_name();
  create("other");
  remove("other");
  const auto tries = lock_.acquire(2, {.timeout = 0s});
  run();
  expect_ended_with_nothing(tries);
  const auto first = waiting(0);
  const auto second = waiting(1);
  remove(by_hand_);
  run();
  EXPECT_TRUE(is_granted(first));
  release(first);
  EXPECT_TRUE(is_granted(second));
  release(second);
  expect_rest();
}

TEST_F(NameTaken, ContendersOfACohort_AllFail) {
  const auto shared = [] { return LockWorld::Request{.local = {.batch = 8}}; };
  take_name();
  const auto first = lock_.acquire(0, shared());
  const auto second = lock_.acquire(0, shared());
  run();
  expect_refused(first);
  expect_refused(second);
  remove(by_hand_);
  release(granted(0, shared()));
  expect_rest();
}

TEST_F(NameTaken, ZnodeOfWaiterDeleted_ItsNextNameIsTaken) {
  const auto holder = granted(0);
  const auto call = waiting(1);
  const auto node = child(lock_.path_lock(1)->nodes().at(0));
  run_for(2s);  // until the watch on its own znode is set
  take_name();
  ASSERT_EQ(ensemble().remove(node), Status::ok);
  run();
  expect_refused(call);
  remove(by_hand_);
  release(holder);
  expect_rest();
}

// The create at the gate raises the counter, so the next move passes the znode.
TEST_F(NameTaken, NameOfAMove_ContenderQueuesAgain) {
  take_name("lock-", 1);
  const auto call = waiting(0, LockWorld::at_gate(5));
  EXPECT_EQ(lock_.nodes().size(), 2U);
  remove(by_hand_);
  run();
  EXPECT_TRUE(is_granted(call));
  release(call);
  expect_rest();
}

TEST_F(NameTaken, NameAtTheGate_CallFails) {
  take_name(core::QueueRule::weighted(5, 100).prefix());
  const auto call = lock_.acquire(0, LockWorld::at_gate(5));
  run();
  expect_refused(call);
  const auto other = granted(1, LockWorld::at_gate(6));
  release(other);
  remove(by_hand_);
  expect_rest();
}

TEST_F(NameTaken, OtherPrefixAheadOfCounter_AppearsInLists) {
  for (const auto& request : {LockWorld::Request{}, LockWorld::to_write(), LockWorld::to_read()}) {
    const std::string prefix = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-";
    const std::int32_t next = counter();
    const std::string by_hand = core::ZnodeName::make(prefix, {next + 1}).text;
    create(by_hand);
    ensemble().set_counter(LockWorld::kPath, next);
    release(granted(0, request));
    ensemble().set_counter(LockWorld::kPath, next + 2);  // the previous number is unused
    const auto call = waiting(0, request);
    remove(by_hand);
    run();
    EXPECT_TRUE(is_granted(call));
    release(call);
  }
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
