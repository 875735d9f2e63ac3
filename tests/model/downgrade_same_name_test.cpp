// SPDX-License-Identifier: Apache-2.0
// The reply to a downgrade is lost, or there is no connection. Meanwhile the lock path is deleted.
// The znode of another contender in the recreated path can have the name of the writer's znode.
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/faults.h"
#include "tests/model/same_name_fixture.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/contender.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

/// Releases are not announced: the servers would refuse the announcement on another's znode.
class DowngradeSameName : public SameNameTest {
 protected:
  DowngradeSameName() : SameNameTest(false) {}

  /// After each, client 0 is disconnected.
  const std::vector<NamedFault> kAllFaults = {
      {"executed", [](World& w) { w.lose_reply(0, Kind::transaction); }},
      {"not executed", [](World& w) { w.lose_request(0, Kind::transaction); }},
      {"not sent", [](World& w) { w.disconnect(0); }},
  };

  /// Client 0 has a write hold and, nested in it, a read hold. It releases the first.
  void set_up(FaultAction fault, core::HoldLimit limit = {}) {
    const Owner owner = Owner::unique();
    auto request = LockWorld::to_write(owner);
    request.limit = limit;
    const auto writes = granted(0, request);
    reads_ = granted(0, LockWorld::to_read(owner));
    name_ = lock_.nodes().at(0);
    fault(lock_.world());
    reset_counts();
    lock_.release(writes);
    run();
    ASSERT_FALSE(client(0).is_connected());
  }
  /// Client 1 acquires the lock in a path that has been recreated.
  std::size_t acquired_by_other(LockWorld::Request request) {
    const auto other = granted_in_later_path(1, request);
    EXPECT_EQ(core::parse_znode_name(lock_.nodes().at(0))->sequence,
              core::parse_znode_name(name_)->sequence);
    return other;
  }
  /// Client 0 reconnects, and the znode of `other` is spared.
  void expect_spared(std::size_t other) {
    const auto nodes = lock_.nodes();
    reconnect(0);
    EXPECT_EQ(lock_.nodes(), nodes);
    EXPECT_EQ(lock_.call(other).hold.state(), HoldState::held);
    EXPECT_NE(lock_.call(reads_).hold.state(), HoldState::held);
    release(other);
    release(reads_);
    expect_rest();
    remove_path();
  }

  std::size_t reads_ = 0;
  std::string name_;
};

TEST_F(DowngradeSameName, NameIsAnotherContenders_ItIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    for (const auto& request : {LockWorld::to_write(), LockWorld::to_read()}) {
      SCOPED_TRACE(name);
      set_up(fault);
      const auto other = acquired_by_other(request);
      expect_spared(other);
      EXPECT_EQ(lock_.losses_notified(reads_), 1U);
    }
  }
}

TEST_F(DowngradeSameName, ReleasedWhileDisconnected_OtherIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    for (const auto& request : {LockWorld::to_write(), LockWorld::to_read()}) {
      SCOPED_TRACE(name);
      set_up(fault);
      lock_.release(reads_);
      run();
      expect_spared(acquired_by_other(request));
      EXPECT_EQ(lock_.losses_notified(reads_), 0U);
    }
  }
}

// The path is recreated during the pause after the refusal.
TEST_F(DowngradeSameName, Throttled_OtherIsSpared) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  reads_ = granted(0, LockWorld::to_read(owner));
  name_ = lock_.nodes().at(0);
  lock_.world().fail_next(0, Kind::transaction, Status::throttled);
  lock_.release(writes);
  run();
  const auto other = acquired_by_other(LockWorld::to_write());
  run_for(1s);
  expect_spared(other);
}

// The release comes while the client looks for its znode.
TEST_F(DowngradeSameName, ReleasedDuringLook_OtherIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    for (int steps = 0; steps < 12; ++steps) {
      SCOPED_TRACE(std::string(name) + ", released after step " + std::to_string(steps));
      set_up(fault);
      const auto other = acquired_by_other(LockWorld::to_write());
      lock_.world().reconnect(0);
      int count = 0;
      run_only(0, [&] { return count++ == steps; });
      lock_.release(reads_);
      expect_spared(other);
    }
  }
}

// The maximum hold time passes. A callback of the loss delays the delete until after the look.
TEST_F(DowngradeSameName, LostBeforeLook_OtherIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    SCOPED_TRACE(name);
    set_up(fault, {.longest = 1s});
    const Hold& hold = lock_.call(reads_).hold;
    std::shared_ptr<void> delay;
    const std::stop_callback on_loss(hold.loss_token(),
                                     [&] { delay = detail::Contender::delay_delete(hold); });
    const auto other = acquired_by_other(LockWorld::to_write());
    run_for(1s);
    ASSERT_TRUE(delay);
    reconnect(0);
    delay.reset();
    expect_spared(other);
  }
}

TEST_F(DowngradeSameName, PathIsNotRecreated_HoldIsLost) {
  for (const auto& [name, fault] : kAllFaults) {
    SCOPED_TRACE(name);
    set_up(fault);
    remove_path();
    reconnect(0);
    EXPECT_EQ(lock_.call(reads_).hold.state(), HoldState::lost);
    EXPECT_EQ(lock_.losses_notified(reads_), 1U);
    release(reads_);
    release(granted(0));
    expect_rest();
    remove_path();
  }
}

TEST_F(DowngradeSameName, PathIsKept_HolderReads) {
  for (const auto& [name, fault] : kAllFaults) {
    for (const bool released : {false, true}) {
      SCOPED_TRACE(name);
      set_up(fault);
      if (released) lock_.release(reads_);
      reconnect(0);
      if (!released) {
        EXPECT_EQ(lock_.call(reads_).hold.state(), HoldState::held);
        EXPECT_TRUE(lock_.nodes().at(0).starts_with("__READ__"));
        reset_counts();
        release(reads_);
        EXPECT_EQ(client(0).requests(Kind::remove), 1U) << "of one name";
      }
      EXPECT_TRUE(lock_.nodes().empty());
      expect_rest();
      remove_path();
    }
  }
}

// The first transaction after a reconnect: nothing has shown the contender's znode since.
TEST_F(DowngradeSameName, BeginsAfterReconnect_SparesOther) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  reads_ = granted(0, LockWorld::to_read(owner));
  name_ = lock_.nodes().at(0);
  lock_.world().disconnect(0);
  run();
  const auto other = acquired_by_other(LockWorld::to_write());
  lock_.world().reconnect(0);
  run_only(0, [&] { return client(0).is_connected(); });
  lock_.release(writes);
  expect_spared(other);
}

// An earlier copy of the transaction was executed.
TEST_F(DowngradeSameName, ReaderZnodeExists_ReleaseDeletesIt) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  const auto reads = granted(0, LockWorld::to_read(owner));
  client(0).fail_next(Kind::transaction, Status::node_exists, true);  // executed by an earlier copy
  lock_.release(writes);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  lock_.release(reads);
  run();
  EXPECT_EQ(lock_.nodes().size(), 0U) << "stays until the session ends";
}

}  // namespace
}  // namespace zklock::model
