// SPDX-License-Identifier: Apache-2.0
// The creates of new paths, and the limit of creates in flight. Also paths whose sequence numbers
// end, and servers that lost their data.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

/// The parent of the lock path exists, and the path itself does not. The clients are new.
class NewPath : public PathLockTest {
 protected:
  void SetUp() override {
    lock_.connect_all();
    ensemble().create_container("/locks");
    reset_counts();
  }
  void make_path() { ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok); }
  void remove_path() { ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok); }
  bool predicts_new_path() {
    const detail::EngineLock lock({lock_.core(0)});
    return lock_.core(0).path_facts().predicts_new_path();
  }
};

TEST_F(NewPath, ExistingPaths_CostOneMoreRequestOnce) {
  make_path();
  EXPECT_EQ(requests_of_a_grant(), 3U) << "the first shows that paths exist";
  EXPECT_EQ(requests_of_a_grant(), 2U);
  EXPECT_EQ(requests_of_a_grant(), 2U);
}

TEST_F(NewPath, NewPathAfterExisting_IsExpectedFromThenOn) {
  make_path();
  requests_of_a_grant();
  remove_path();
  EXPECT_EQ(requests_of_a_grant(), 5U) << "create and count, the parents, create and count";
  remove_path();
  EXPECT_EQ(requests_of_a_grant(), 3U);
}

TEST_F(NewPath, UsedPath_IsNotCreatedAgain) {
  lock_.use(0);
  requests_of_a_grant();
  ASSERT_TRUE(predicts_new_path());
  for (int i = 0; i < 2; ++i) {
    requests_of_a_grant();
    EXPECT_EQ(client(0).requests(Kind::create_parents), 0U) << i;
  }
}

TEST_F(NewPath, ContendersAtOnce_CreatePathOnce) {
  lock_.acquire(0);
  lock_.acquire(0);
  EXPECT_EQ(client(0).requests(Kind::create_parents), 1U);
  EXPECT_EQ(client(0).requests(Kind::create_contender), 2U);
  run();
  EXPECT_EQ(client(0).requests(Kind::create_parents), 1U);
}

class CreateLimiterTest : public PathLockTest {
 protected:
  CreateLimiterTest() : PathLockTest(2) {}
  std::size_t creates() { return client(0).requests(Kind::create_contender); }
  std::vector<std::size_t> acquire(int count, Request request = {}) {
    std::vector<std::size_t> calls;
    for (int i = 0; i < count; ++i) {
      request.owner = Owner::unique();
      calls.push_back(lock_.acquire(0, request));
    }
    return calls;
  }
  /// Releases each call after its grant. Returns the order of the grants.
  std::vector<std::size_t> served(const std::vector<std::size_t>& calls) {
    std::vector<std::size_t> order;
    while (true) {
      const auto holds = std::ranges::find_if(
          calls, [this](std::size_t call) { return static_cast<bool>(lock_.call(call).hold); });
      if (holds == calls.end()) return order;
      order.push_back(*holds);
      release(*holds);
    }
  }
  void expect_granted_in_turn(const std::vector<std::size_t>& calls) {
    for (const std::size_t call : calls) {
      EXPECT_TRUE(lock_.call(call).granted());
      release(call);
    }
  }
};

TEST(CreateLimiter, ManyRequestsPermitted_AHundredAreLetThrough) {
  detail::CreateLimiter limiter(2'000);
  const auto never = [] { ADD_FAILURE() << "let through"; };
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(limiter.enter(i, never));
  EXPECT_FALSE(limiter.enter(100, never));
}

TEST_F(CreateLimiterTest, MoreCreatesThanLimit_AreGrantedInOrder) {
  const auto calls = acquire(7);
  EXPECT_EQ(creates(), 2U);
  run();
  EXPECT_EQ(creates(), 7U);
  EXPECT_EQ(lock_.nodes().size(), 7U);
  expect_granted_in_turn(calls);
}

TEST_F(CreateLimiterTest, CreateOnOtherPath_DoesNotQueue) {
  const auto calls = acquire(3);
  ASSERT_EQ(creates(), 2U);
  bool ended = false;
  acquire_path(lock_.path_lock(0, "/locks/b"), [&](const auto&) { ended = true; })->cancel();
  EXPECT_EQ(creates(), 3U);
  run();
  EXPECT_TRUE(ended);
  expect_granted_in_turn(calls);
}

TEST_F(CreateLimiterTest, CancelledInQueue_SendsNoCreate) {
  const auto calls = acquire(6);
  lock_.cancel(calls[3]);
  lock_.cancel(calls[5]);
  EXPECT_EQ(lock_.call(calls[3]).outcomes, 1) << "at once";
  run();
  EXPECT_EQ(creates(), 4U);
  expect_granted_in_turn({calls[0], calls[1], calls[2], calls[4]});
}

TEST_F(CreateLimiterTest, ConnectionTimeout_EndsAllQueuedCreates) {
  disconnect(0);
  const auto calls = acquire(9, {});
  run_for(client(0).options().connection_timeout - 1s);
  for (const std::size_t call : calls) EXPECT_EQ(lock_.call(call).outcomes, 0);
  run_for(2s);
  for (const std::size_t call : calls) EXPECT_EQ(error(call), Errc::not_connected);
  lock_.world().reconnect(0);
}

TEST_F(CreateLimiterTest, SessionEnded_CreatesBeforeTheQueue) {
  const auto calls = acquire(7);
  lock_.world().disconnect(0);
  run_for(client(0).options().session_timeout + 1s);
  reconnect(0);
  // The next two were admitted while the fate of the first two was unknown.
  EXPECT_EQ(served(calls), (std::vector<std::size_t>{calls[2], calls[3], calls[0], calls[1],
                                                     calls[4], calls[5], calls[6]}));
}

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
  reconnect(0);
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

// The outcome of the transaction that deletes the path is unknown. Then the count is changed before
// such a transaction is executed.
TEST_F(CounterEnd, SharedCount_SurvivesTheRecreation) {
  const auto expect_count = [&](const std::string& count) {
    const Node* const node = ensemble().find(LockWorld::count_path());
    EXPECT_EQ(node ? node->data : "none", count);
  };
  const Request permits = LockWorld::shared_permits(1, 2);
  lock_.say_permits(3);
  for (const bool is_executed : {false, true}) {
    ensemble().set_counter(LockWorld::kPath, kLast);
    client(0).fail_next(Kind::transaction, Status::unknown, is_executed);
    release(granted(0, permits));
    expect_count("3");
  }
  ensemble().set_counter(LockWorld::kPath, kLast);
  reset_counts();
  const auto call = lock_.acquire(0, permits);
  while (client(0).requests(Kind::transaction) == 0) ASSERT_TRUE(step());
  lock_.say_permits(7);
  run();
  EXPECT_TRUE(is_granted(call));
  expect_count("7");
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
