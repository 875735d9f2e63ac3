// SPDX-License-Identifier: Apache-2.0
// Which contenders of a client block another one, as DeadlockDetector reads it.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

class PathLockWaits : public PathLockTest {
 protected:
  detail::BlockedContender blocked(std::size_t call, std::size_t client = 0) {
    const auto path_lock = lock_.path_lock(client);
    const detail::EngineLock lock(path_lock->entry());
    return path_lock->blockers_of(lock_.call(call).owner);
  }
  /// Returns the contender of this call, which waits.
  std::shared_ptr<const detail::Contender> contender(std::size_t call) {
    const void* const waiter = blocked(call).contender;
    return waiter == nullptr ? nullptr
                             : static_cast<const detail::Contender*>(waiter)->shared_from_this();
  }
  /// Returns the owners that block the contender of this call.
  std::vector<Owner> blockers(std::size_t call, std::size_t client = 0) {
    std::vector<Owner> owners;
    for (const auto& each : blocked(call, client).blockers) owners.push_back(each.owner);
    return owners;
  }
  Owner owner(std::size_t call) { return lock_.call(call).owner; }
};

TEST_F(PathLockWaits, Mutex_HolderBlocksEachWaiter) {
  const std::size_t holder = granted(0);
  const std::size_t second = waiting(0);
  const std::size_t third = waiting(0);
  const std::vector<Owner> expected{owner(holder)};
  EXPECT_EQ(blockers(second), expected);
  EXPECT_EQ(blockers(third), expected) << "a waiter blocks none";
  EXPECT_TRUE(blockers(holder).empty());
  EXPECT_EQ(blocked(holder).contender, nullptr) << "it does not wait";
  const auto before = blocked(third);
  EXPECT_EQ(before.contender, blocked(third).contender);
  release(holder);
  EXPECT_EQ(blockers(third), std::vector<Owner>{owner(second)});
  lock_.cancel(third);
  run();
  EXPECT_EQ(blocked(third).contender, nullptr);
  const std::size_t fourth = waiting(0);
  lock_.world().expire(0);
  run();
  EXPECT_TRUE(blockers(fourth).empty()) << "the hold is lost";
  lock_.connect_all();
}

TEST_F(PathLockWaits, CallCancelled_ContenderIsOver) {
  granted(0);
  const std::size_t second = waiting(0);
  auto waiter = contender(second);
  ASSERT_NE(waiter, nullptr);
  lock_.cancel(second);
  run();
  {
    const detail::EngineLock lock(lock_.path_lock(0)->entry());
    EXPECT_EQ(waiter->ownership().state(), core::Ownership::State::over);
  }
  waiter.reset();
}

// Between the close of the path and that of the coordinator, a reply can still arrive.
TEST_F(PathLockWaits, ReplyAfterClose_ContenderIsNotGranted) {
  const std::size_t call = lock_.acquire(0);
  auto waiter = contender(call);
  ASSERT_NE(waiter, nullptr);
  const auto path_lock = lock_.path_lock(0);
  path_lock->close();
  run();
  EXPECT_EQ(error(call), Errc::closed);
  {
    const detail::EngineLock lock(path_lock->entry());
    EXPECT_EQ(waiter->ownership().state(), core::Ownership::State::over);
    EXPECT_NE(waiter->lock_node().machine().state(), core::AcquireState::granted);
  }
  waiter.reset();
  lock_.core(0).close();
}

TEST_F(PathLockWaits, Readers_BlockWritersOnly) {
  const std::size_t first = granted(0, LockWorld::to_read());
  const std::size_t second = granted(0, LockWorld::to_read());
  const std::size_t writer = waiting(0, LockWorld::to_write());
  const std::size_t reader = waiting(0, LockWorld::to_read());
  EXPECT_EQ(blockers(writer).size(), 2U);
  for (const bool waits : {true, false}) {
    ASSERT_EQ(blockers(reader), std::vector<Owner>{owner(writer)});
    EXPECT_EQ(blocked(reader).blockers.front().waits, waits);
    if (!waits) break;
    release(first);
    release(second);
  }
}

TEST_F(PathLockWaits, DowngradedWriter_BlocksWritersOnly) {
  const Owner owner = Owner::unique();
  const std::size_t write = granted(0, LockWorld::to_write(owner));
  granted(0, LockWorld::to_read(owner));
  const std::size_t writer = waiting(0, LockWorld::to_write());
  EXPECT_EQ(blockers(writer).size(), 1U);
  release(write);
  EXPECT_EQ(blockers(writer).size(), 1U);
  const std::size_t reader = waiting(0, LockWorld::to_read());
  EXPECT_EQ(blockers(reader), std::vector<Owner>{this->owner(writer)}) << "which waits ahead";
}

TEST_F(PathLockWaits, WriterAtGate_BlocksNoReader) {
  const std::size_t holder = granted(0, LockWorld::to_write());
  const std::size_t at_gate = waiting(0, LockWorld::at_gate(1));
  const std::size_t reader = waiting(0, LockWorld::to_read());
  waiting(0, LockWorld::to_write());
  EXPECT_EQ(blockers(at_gate), std::vector<Owner>{owner(holder)});
  EXPECT_EQ(blockers(reader), std::vector<Owner>{owner(holder)})
      << "it passes those at the gate, and a writer behind it does not block it";
}

// Before the replies, this client does not know which znode is first.
TEST_F(PathLockWaits, CreateIsUnanswered_OrderIsNotKnown) {
  granted(0, LockWorld::to_read());
  client(0).cut_off();
  const std::size_t reader = lock_.acquire(0, LockWorld::to_read());
  const std::size_t writer = lock_.acquire(0, LockWorld::to_write());
  EXPECT_FALSE(blocked(reader).has_node);
  EXPECT_EQ(blockers(reader), std::vector<Owner>{owner(writer)});
  client(0).mend();
  run();
  EXPECT_TRUE(is_granted(reader));
  EXPECT_TRUE(blocked(writer).has_node);
}

TEST_F(PathLockWaits, Permits_BlockNone) {
  granted(0, LockWorld::permits(2, 2));
  const std::size_t second = waiting(0, LockWorld::permits(1, 2));
  EXPECT_TRUE(blockers(second).empty());
}

TEST_F(PathLockWaits, OnlyLocksWithoutLimit_AreThreadBound) {
  const auto is_bound = [&](Request request) {
    const std::size_t holder = granted(0, std::move(request));
    const std::size_t second = waiting(0);
    const auto all = blocked(second).blockers;
    EXPECT_EQ(all.size(), 1U);
    const bool bound = !all.empty() && all.front().is_thread_bound;
    lock_.cancel(second);
    run();
    release(holder);
    return bound;
  };
  EXPECT_TRUE(is_bound({.kind = core::CountKind::lock}));
  EXPECT_FALSE(is_bound({.kind = core::CountKind::hold}));
  EXPECT_FALSE(is_bound({.kind = core::CountKind::lock, .limit = {.longest = 10s}}));
}

TEST_F(PathLockWaits, LimitSetByRenew_IsNotThreadBound) {
  const Owner owner = Owner::unique();
  granted(0, {.owner = owner, .kind = core::CountKind::lock});
  const std::size_t hold = granted(0, {.owner = owner});
  const std::size_t second = waiting(0);
  const auto is_bound = [&] { return blocked(second).blockers.front().is_thread_bound; };
  EXPECT_FALSE(is_bound()) << "the hold can be released by another thread";
  EXPECT_TRUE(lock_.call(hold).hold.renew(10s));
  release(hold);
  EXPECT_FALSE(is_bound()) << "the limit ends the hold of lock(), too";
}

}  // namespace
}  // namespace zklock::model
