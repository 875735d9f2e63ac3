// SPDX-License-Identifier: Apache-2.0
// A writer that becomes a reader.
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/faults.h"
#include "tests/model/path_lock_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/guarded_commit.h"
#include "zklock/engine/queue_view.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

/// The first client has a write hold and, nested in it, a read hold.
class Downgrade : public PathLockTest {
 protected:
  static Request to_read() { return LockWorld::to_read(); }

  void SetUp() override {
    PathLockTest::SetUp();
    writes_ = granted(0, LockWorld::to_write(owner_));
    reads_ = granted(0, LockWorld::to_read(owner_));
    writer_ = hold().node();
    reader_ = writer_;
    reader_.replace(reader_.find("__WRIT__"), 8, "__READ__");
    reset_counts();
  }
  const Hold& hold() { return lock_.call(reads_).hold; }
  bool there(const std::string& node) { return ensemble().find(node) != nullptr; }
  bool is_reader() { return hold().node() == reader_ && there(reader_) && !there(writer_); }

  /// Sends the request. run() completes it.
  void downgrade() { lock_.release(writes_); }
  void step(int count) {
    for (int i = 0; i < count; ++i) {
      const auto steps = world().steps();
      if (!steps.empty()) world().run(steps.front());
    }
  }
  void commit(Deadline deadline = Deadline::never()) {
    GuardedTransaction tx(hold());
    tx.set(kDataPath, "1");
    tx.async_commit(deadline, [this](const std::exception_ptr& error) {
      ++commits_;
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Error& e) {
        code_ = e.errc();
      }
    });
  }
  const std::string& data() { return ensemble().find(kDataPath)->data; }

  static constexpr const char* kDataPath = "/data";
  const Owner owner_ = Owner::unique();
  std::size_t writes_ = 0;
  std::size_t reads_ = 0;
  std::string writer_;
  std::string reader_;
  int commits_ = 0;
  std::optional<Errc> code_;
};

TEST_F(Downgrade, Mutex_NotDowngraded) {
  release(reads_);
  release(writes_);
  const auto alone = granted(0, {.owner = owner_});
  granted(0, LockWorld::to_read(owner_));
  const auto reader = waiting(1, to_read());
  release(alone);
  EXPECT_EQ(lock_.call(reader).outcomes, 0);
}

// The call of the writer has ended by its timeout. The readers that share its znode still wait.
TEST_F(Downgrade, WriterTimedOut_SharingReadersAreDowngraded) {
  const Owner owner = Owner::unique();
  auto wish = LockWorld::to_write(owner);
  wish.timeout = 1s;
  const auto writes = waiting(1, wish);
  const auto reads = waiting(1, LockWorld::to_read(owner));
  const auto behind = waiting(2, to_read());
  world().run_for(1s);
  ASSERT_EQ(lock_.call(writes).outcomes, 1);
  release(reads_);
  release(writes_);
  EXPECT_TRUE(lock_.call(reads).granted());
  EXPECT_TRUE(lock_.call(behind).granted());
  EXPECT_EQ(lock_.held(), 2U);
}

TEST_F(Downgrade, NameTakenByStranger_RemainsWriter) {
  ASSERT_EQ(ensemble().create(reader_), Status::ok);
  downgrade();
  run();
  EXPECT_EQ(hold().state(), HoldState::held);
  EXPECT_EQ(hold().node(), writer_);
  EXPECT_TRUE(there(writer_));
  release(reads_);
  EXPECT_EQ(lock_.nodes().size(), 1U) << "the stranger's is not touched";
  ensemble().remove(reader_);
}

TEST_F(Downgrade, WriteCountLeft_NotDowngraded) {
  const auto again = granted(0, LockWorld::to_write(owner_));
  release(writes_);
  EXPECT_EQ(hold().node(), writer_);
  release(again);
  EXPECT_TRUE(is_reader());
}

TEST_F(Downgrade, ZnodeDeletedBefore_IsLoss) {
  ASSERT_EQ(ensemble().remove(writer_), Status::ok);
  downgrade();
  run();
  EXPECT_EQ(hold().state(), HoldState::lost);
}

// The tick reads the reader's znode before any watch on it is set.
TEST_F(Downgrade, ZnodeReplacedByStranger_IsLoss) {
  downgrade();
  run();
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  ASSERT_EQ(ensemble().create(reader_), Status::ok);
  world().run_for(5s);
  EXPECT_EQ(hold().state(), HoldState::lost);
  ensemble().remove(reader_);
}

TEST_F(Downgrade, CloseDuringDowngrade_HoldIsLost) {
  for (int steps = 0; steps < 3; ++steps) {
    LockWorld lock(1);
    lock.connect_all();
    const Owner owner = Owner::unique();
    const auto writes = lock.acquire(0, LockWorld::to_write(owner));
    const auto reads = lock.acquire(0, LockWorld::to_read(owner));
    lock.world().run_all();
    lock.release(writes);
    for (int i = 0; i < steps; ++i) lock.world().run(lock.world().steps().front());
    lock.core(0).close();
    lock.world().run_all();
    EXPECT_EQ(lock.call(reads).hold.state(), HoldState::lost);
    EXPECT_FALSE(lock.has_work(0));
    lock.release(reads);
  }
}

// A list can be older than the downgrade.
TEST_F(Downgrade, EitherZnodeName_IsOwn) {
  downgrade();
  run();
  client::Reply unreadable;
  unreadable.status = Status::no_auth;
  for (const std::size_t c : {0U, 1U}) {
    const detail::OwnZnodes own(client(c).session(), lock_.path_lock(c)->nodes());
    for (const std::string& node : {writer_, reader_}) {
      const auto name = core::ZnodeName::parse(node.substr(node.rfind('/') + 1));
      EXPECT_EQ(own.has(*name, unreadable), c == 0) << node;
    }
  }
}

TEST_F(Downgrade, BeforeReply_BothNamesAreOwn) {
  downgrade();
  EXPECT_EQ(lock_.path_lock(0)->nodes().size(), 2U);
  EXPECT_TRUE(lock_.has_work(0)) << "flush() waits for it";
  run();
  EXPECT_EQ(lock_.path_lock(0)->nodes().size(), 1U);
  EXPECT_FALSE(lock_.has_work(0));
}

// A znode of this session at the path is not necessarily the one that the downgrade created.
TEST_F(Downgrade, OtherAttemptAfterLostReply_IsLoss) {
  world().lose_reply(0, Kind::transaction);
  downgrade();
  run();
  const Node node = *ensemble().find(reader_);
  auto other = core::ZnodeData::parse(node.data);
  ASSERT_TRUE(other);
  other->attempt = core::ZnodeData::parse(node.data)->attempt + "0";
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  ASSERT_EQ(ensemble().create(reader_, other->encode(), node.owner), Status::ok);
  lock_.connect_all();
  EXPECT_EQ(hold().state(), HoldState::lost);
  release(reads_);
  ensemble().remove(reader_);
}

using DowngradeFaults = Downgrade;

const std::vector<NamedFault> kDowngradeFaults = {
    {"lost request", [](World& w) { w.lose_request(0); }},
    {"lost reply", [](World& w) { w.lose_reply(0); }},
    {"two lost replies",
     [](World& w) {
       w.lose_reply(0);
       w.lose_reply(0);
     }},
    {"busy", [](World& w) { w.fail_next(0, Kind::transaction, Status::throttled); }},
    {"busy when it looks at the writer",
     [](World& w) {
       w.lose_reply(0, Kind::transaction);
       w.fail_next(0, Kind::check, Status::throttled);
     }},
    {"busy when it looks at the reader",
     [](World& w) {
       w.lose_reply(0, Kind::transaction);
       for (int i = 0; i < 2; ++i) w.fail_next(0, Kind::get, Status::throttled);
     }},
};

/// Downgrades a hold, with the fault after some steps. Releases it some steps after the fault; -1:
/// at the end. Returns whether the hold was still valid at the end.
bool is_held_after(FaultAction fault, int steps, int released_after) {
  LockWorld lock(2);
  World& w = lock.world();
  lock.connect_all();
  const Owner owner = Owner::unique();
  const auto writes = lock.acquire(0, LockWorld::to_write(owner));
  const auto reads = lock.acquire(0, LockWorld::to_read(owner));
  w.run_all();
  const auto reader = lock.acquire(1, LockWorld::to_read());
  w.run_for(2s);
  lock.release(writes);
  const auto some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (const auto all = w.steps(); !all.empty()) w.run(all.front());
    }
  };
  some(steps);
  fault(w);
  some(released_after);
  if (released_after >= 0) lock.release(reads);
  for (int i = 0; i < 4; ++i) {
    lock.connect_all();
    w.run_for(5s);
    EXPECT_EQ(lock.violation(), "");
  }
  EXPECT_TRUE(lock.call(reader).granted());
  const Hold& hold = lock.call(reads).hold;
  const bool is_held = released_after < 0 && hold.state() == HoldState::held;
  if (is_held) {
    EXPECT_NE(w.ensemble().find(hold.node()), nullptr);
    EXPECT_NE(hold.node().find("__READ__"), std::string::npos);
    EXPECT_EQ(lock.nodes().size(), 2U);
  } else {
    EXPECT_EQ(lock.nodes().size(), 1U);
  }
  lock.release(reads);
  lock.release(reader);
  w.run_for(2s);
  EXPECT_EQ(lock.violation_at_rest(), "");
  return is_held;
}

// Each fault at each step of a downgrade, with the release at different moments.
TEST_F(DowngradeFaults, EveryFaultAtEveryStep_HeldOrLost) {
  int held = 0;
  int lost = 0;
  for (const auto& [name, fault] : faults_and(kDowngradeFaults)) {
    for (const int released_after : {-1, 0, 1, 2, 5}) {
      for (int steps = 0; steps < 4; ++steps) {
        SCOPED_TRACE(std::string(name) + " after step " + std::to_string(steps) +
                     ", released after " + std::to_string(released_after));
        ++(is_held_after(fault, steps, released_after) ? held : lost);
      }
    }
  }
  EXPECT_GE(held, 20);
  EXPECT_GT(lost, 20);
}

// The outcome of the downgrade is unknown, so the commit under the old name waits. After the
// release it is not sent under the new name.
TEST_F(DowngradeFaults, ReleaseInDoubt_CommitIsNotRepeated) {
  ensemble().create(kDataPath, "0");
  int refused = 0;
  for (int steps = 0; steps < 16; ++steps) {
    SCOPED_TRACE(steps);
    ensemble().set_data(kDataPath, "0");
    commits_ = 0;
    code_.reset();
    world().lose_reply(0, Kind::transaction);
    downgrade();
    run();
    world().reconnect(0);
    commit();
    step(steps);
    reset_counts();
    lock_.release(reads_);
    run();
    EXPECT_EQ(client(0).requests(Kind::transaction), 0U);
    EXPECT_EQ(commits_, 1);
    EXPECT_EQ(data(), code_ ? "0" : "1");
    refused += code_ == Errc::lock_lost ? 1 : 0;
    writes_ = granted(0, LockWorld::to_write(owner_));
    reads_ = granted(0, LockWorld::to_read(owner_));
  }
  EXPECT_GT(refused, 3);
  EXPECT_LT(refused, 16);
}

// The downgrade replaces the znode's name, so the commit under the old name is refused.
TEST_F(DowngradeFaults, CommitAbandoned_IsNotRepeated) {
  ensemble().create(kDataPath, "0");
  std::shared_ptr<detail::Contender> guard;
  const auto nested = LockWorld::to_read(owner_);
  detail::PendingAcquire::start(
      lock_.path_lock(0),
      {.owner = owner_,
       .rule = nested.rule,
       .time_limit = detail::TimeLimit::endless(),
       .kind = nested.kind,
       .done = [&](const detail::AcquireOutcome& outcome) { guard = outcome.contender; }},
      {});
  run();
  ASSERT_TRUE(guard);
  Hold also_reads = guard->make_hold(nested.kind);
  downgrade();
  std::optional<Error> error;
  const auto commit = detail::GuardedCommit::start(
      {.guards = {guard}, .writes = {client::request::write::Set{kDataPath, "1"}}},
      Deadline::never(), [&](std::optional<Error> e) { error = std::move(e); });
  commit->withdraw();
  run();
  EXPECT_TRUE(is_reader());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->errc(), Errc::not_connected);
  EXPECT_EQ(data(), "0");
  EXPECT_EQ(client(0).requests(Kind::transaction), 2U) << "it, and the downgrade";
  also_reads.release();
  guard.reset();
}

/// The ensemble has executed the downgrade, but the client lost the reply. After a refused commit
/// it waits a quarter of a second, and then looks at its znodes.
class DowngradeInDoubt : public Downgrade {
 protected:
  void refused(Deadline deadline) {
    ensemble().create(kDataPath, "0");
    world().lose_reply(0, Kind::transaction);
    downgrade();
    run();
    ASSERT_TRUE(there(reader_));
    world().fail_next(0, Kind::check, Status::throttled);
    lock_.connect_all();
    ASSERT_EQ(hold().node(), writer_);
    reset_counts();
    commit(deadline);
    run();
    ASSERT_EQ(client(0).requests(Kind::transaction), 1U);
    ASSERT_EQ(commits_, 0) << "refused, and the cause is not known yet";
  }
  void expect_ended(std::optional<Errc> code) {
    EXPECT_EQ(commits_, 1);
    EXPECT_EQ(code_, code);
    EXPECT_EQ(data(), code ? "0" : "1");
  }
};

TEST_F(DowngradeInDoubt, CommitRefused_WaitsForName) {
  refused(Deadline::never());
  world().run_for(1s);
  EXPECT_EQ(hold().node(), reader_);
  expect_ended(std::nullopt);
}

TEST_F(DowngradeInDoubt, CommitAtDeadline_EndsNotConnected) {
  refused(Deadline::after(world().now(), 100ms));
  world().run_for(100ms);
  expect_ended(Errc::not_connected);
  world().run_for(5s);
  expect_ended(Errc::not_connected);
}

TEST_F(DowngradeInDoubt, SessionExpired_CommitReportsLoss) {
  refused(Deadline::never());
  world().expire(0);
  run();
  expect_ended(Errc::lock_lost);
  lock_.connect_all();
}

}  // namespace
}  // namespace zklock::model
