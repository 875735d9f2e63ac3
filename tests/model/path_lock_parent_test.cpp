// SPDX-License-Identifier: Apache-2.0
// The lock's path is deleted while contenders use it. Other programs recreate it, with znodes of
// equal names.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class PathLockParent : public PathLockTest {
 protected:
  /// Recreates the path with znodes of other programs. No event is delivered before the next run().
  std::vector<std::string> replace_by_strangers(int count) {
    for (const std::string& node : lock_.nodes()) remove(node);
    EXPECT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
    ensemble().create_container(LockWorld::kPath);
    std::vector<std::string> strangers;
    for (int i = 0; i < count; ++i) {
      strangers.push_back(*ensemble().create_sequential(LockWorld::kPath, "lock-"));
    }
    return strangers;
  }
  bool has_lease(std::size_t c) {
    const detail::EngineLock lock({lock_.core(c)});
    return lock_.core(c).keeper().lease_for_grant(client(c).session()) != nullptr;
  }
  void remove(const std::string& node) {
    EXPECT_EQ(ensemble().remove(std::string(LockWorld::kPath) + "/" + node), Status::ok);
  }
};

TEST_F(PathLockParent, RefusedRelease_LeavesForeignZnode) {
  const auto held = granted(0);
  const auto strangers = replace_by_strangers(2);
  // A server replies so if only another client can write the znode.
  client(0).fail_next(Kind::announce_and_delete, Status::no_auth);
  reset_counts();
  lock_.release(held);
  run();
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 0U);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  for (const std::string& stranger : strangers) remove(stranger);
  expect_rest();
}

TEST_F(PathLockParent, RefusedRelease_DeletesOwnZnode) {
  const auto held = granted(0);
  client(0).fail_next(Kind::announce_and_delete, Status::no_auth);
  lock_.release(held);
  run();
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 1U);
  expect_rest();
}

// The znode is replaced after the list that shows it first, and before the check, which knows only
// its name.
TEST_F(PathLockParent, ZnodeReplacedBeforeCheck_IsNotGranted) {
  const auto held = granted(0);
  const auto waits = waiting(1);
  client(1).isolate();
  ASSERT_TRUE(lock_.world().run_until([&] { return !has_lease(1); }, 6s));
  client(1).heal();
  lock_.release(held);
  reset_counts();
  for (int i = 0; i < 1'000 && client(1).requests(Kind::get) == 0; ++i) {
    lock_.world().run(lock_.world().steps().front());
  }
  ASSERT_EQ(client(1).requests(Kind::get), 1U);
  const auto strangers = replace_by_strangers(3);
  lock_.world().run_for(500ms);
  EXPECT_FALSE(lock_.call(waits).granted());
  for (const std::string& stranger : strangers) remove(stranger);
  run();
  EXPECT_TRUE(lock_.call(waits).granted());
  lock_.release(waits);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
