// SPDX-License-Identifier: Apache-2.0
// The sequence numbers of a path at their end, and after the servers lost their data.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();

class CounterEnd : public PathLockTest {
 protected:
  /// Returns the next sequence number of the path.
  std::int32_t counter() { return ensemble().find(LockWorld::kPath)->counter; }
};

// Without a znode it waits by lists, which belong to no session.
TEST_F(CounterEnd, CancelledWhileDisconnected_NoListRemains) {
  granted(1);
  ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
  const auto call = waiting(0);
  lock_.world().disconnect(0);
  run_for(1s);
  EXPECT_GT(client(0).unanswered(), 0U) << "it lists again";
  lock_.cancel(call);
  run();
  EXPECT_EQ(client(0).unanswered(), 0U);
  lock_.world().reconnect(0);
  run();
}

// A contender that waits for the restart of the counter has no znode that could be counted.
TEST_F(CounterEnd, HolderSharesZnode_OtherClientsAreGranted) {
  const auto shared = [] { return Request{.local = {.batch = 8}}; };
  for (const auto next : {kLast, core::kFirstUnusableSequence.value}) {
    lock_.use(0);
    std::vector<std::size_t> own = {granted(0, shared())};
    ensemble().set_counter(LockWorld::kPath, next);
    const auto other = waiting(1);
    while (own.size() < 100 && !is_granted(other)) {
      own.push_back(lock_.acquire(0, shared()));
      run();
      for (std::size_t i = 0; i + 1 < own.size(); ++i) lock_.release(own[i]);
      run_for(500ms);
    }
    EXPECT_LT(own.size(), 20U);
    for (int i = 0; i < 5; ++i) {
      for (const auto call : own) lock_.release(call);
      lock_.release(other);
      run_for(1s);
    }
    EXPECT_TRUE(is_granted(other));
    lock_.end_use(0);
    expect_rest();
  }
}

TEST_F(CounterEnd, IdleLockRetained_OtherClientsAreGranted) {
  const Request kept{.local = {.keep_idle_for = std::chrono::hours(1)}};
  for (const bool ended_before : {false, true}) {
    lock_.use(0);
    const auto holder = granted(0, kept);
    if (ended_before) ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
    const auto other = ended_before ? waiting(1) : std::size_t{};
    release(holder);
    if (!ended_before) ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
    const auto call = ended_before ? other : lock_.acquire(1);
    run_for(5s);
    EXPECT_TRUE(is_granted(call)) << ended_before;
    release(call);
    lock_.end_use(0);
    expect_rest();
  }
}

TEST_F(CounterEnd, PathRecreatedByOtherClient_IsNotDeleted) {
  ASSERT_EQ(ensemble().create(child("config")), Status::ok);
  ensemble().set_counter(LockWorld::kPath, kLast);
  const auto failed = lock_.acquire(0);
  run();
  EXPECT_EQ(error(failed), Errc::sequence_exhausted);
  ASSERT_EQ(ensemble().remove(child("config")), Status::ok);
  release(granted(1));
  const auto czxid = ensemble().find(LockWorld::kPath)->czxid;
  release(granted(0));
  EXPECT_EQ(ensemble().find(LockWorld::kPath)->czxid, czxid);
  EXPECT_EQ(counter(), 2);
}

class EmptiedServers : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    for (const std::size_t c : {0U, 1U, 2U}) lock_.use(c);
    const std::int64_t zxid = ensemble().last_zxid() + 1'000;
    while (ensemble().last_zxid() < zxid) ASSERT_EQ(ensemble().set_data("/", {}), Status::ok);
  }
  void cycle(std::size_t client) { release(granted(client)); }
  void reap() {
    run_for(2s);
    ASSERT_GT(ensemble().reap_containers(), 0U);
    run();
  }
  /// Empties the ensemble, and gives each client a new session.
  void empty_servers() {
    lock_.empty_servers();
    run();
    for (const std::size_t c : {0U, 1U, 2U}) lock_.world().disconnect(c);
    run_for(client(0).options().session_timeout + 1s);
    for (const std::size_t c : {0U, 1U, 2U}) lock_.world().reconnect(c);
    run();
  }
};

TEST_F(EmptiedServers, PathRecreatedBefore_ReleasedZnodeIsDeleted) {
  cycle(0);
  cycle(1);
  reap();
  cycle(0);
  cycle(1);
  empty_servers();
  for (const std::size_t c : {0U, 1U, 0U, 0U}) {
    cycle(c);
    EXPECT_TRUE(lock_.nodes().empty());
  }
}

// A repeated delete must not delete the new znode of that name.
TEST_F(EmptiedServers, PathRecreatedLater_IsDetected) {
  cycle(0);
  empty_servers();
  cycle(0);
  reap();
  const auto holder = lock_.acquire(0);
  reset_counts();
  run();
  ASSERT_TRUE(is_granted(holder));
  EXPECT_EQ(client(0).requests(Kind::check), 1U) << "it is looked for";
}

// After that, the client's own sequence number equals that of the last znode that it released.
TEST_F(EmptiedServers, ReusedSequenceNumber_NextIsNotFirst) {
  cycle(0);
  const auto last = granted(0);
  const int number = core::ZnodeName::parse(lock_.nodes().at(0))->sequence.value;
  release(last);
  empty_servers();
  ensemble().create("/locks");
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  ensemble().set_counter(LockWorld::kPath, number - 1);
  const auto lost = granted(0);
  run_for(900ms);  // until its own znode is watched
  ASSERT_EQ(ensemble().remove(lock_.call(lost).node), Status::ok);
  run();
  granted(0);
  ASSERT_EQ(core::ZnodeName::parse(lock_.nodes().at(0))->sequence.value, number);
  waiting(0);
}

}  // namespace
}  // namespace zklock::model
