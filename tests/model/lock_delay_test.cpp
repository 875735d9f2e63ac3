// SPDX-License-Identifier: Apache-2.0
// The delay after a loss.
#include "zklock/core/lock_delay.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/faults.h"
#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

constexpr std::chrono::milliseconds kDelay{5'000};

/// A holder that leaves a delay marker behind, and the contenders behind it.
class LockDelay : public PathLockTest {
 protected:
  static Request delayed(std::chrono::milliseconds lock_delay = kDelay) {
    return {.lock_delay = lock_delay};
  }
  Instant now() { return lock_.world().now(); }
  std::vector<std::string> marker_nodes() {
    auto names = lock_.nodes();
    std::erase_if(names, [](const auto& name) { return !core::DelayMarker::parse(name); });
    return names;
  }
  std::size_t markers() { return marker_nodes().size(); }
  /// Ends the session of the client, which holds the lock.
  void lose(std::size_t client) {
    lock_.world().expire(client);
    run();
  }
  void expect_granted_after(Duration length, std::size_t call) {
    run_for(length - 1ns);
    EXPECT_EQ(lock_.call(call).outcomes, 0) << "too early";
    run_for(1ns);
    EXPECT_TRUE(is_granted(call)) << "too late";
  }
};

// One transaction deletes the znode and the marker. With two requests, one could arrive late.
TEST_F(LockDelay, ReleaseRefused_IsRetriedAsWhole) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  for (const Status status : {Status::throttled, Status::read_only, Status::server_error}) {
    client(0).fail_next(Kind::transaction, status);
  }
  release(holder);
  for (int refused = 1; refused < 3; ++refused) {
    EXPECT_EQ(lock_.call(next).outcomes, 0);
    EXPECT_EQ(lock_.nodes().size(), 3U) << "the holder, its marker, and the next one";
    run_for(250ms);
  }
  run_for(250ms);
  EXPECT_TRUE(is_granted(next)) << "at once";
}

// The client looks whether the transaction was executed, and sends it again as a whole.
TEST_F(LockDelay, ReleaseOutcomeUnknown_CausesNoDelay) {
  for (const bool executed : {true, false}) {
    SCOPED_TRACE(executed);
    const auto holder = granted(0, delayed());
    const auto next = waiting(1);
    executed ? lock_.world().lose_reply(0, Kind::transaction)
             : lock_.world().lose_request(0, Kind::transaction);
    const Instant released = now();
    release(holder);
    EXPECT_EQ(is_granted(next), executed);
    reset_counts();
    reconnect(0);
    EXPECT_TRUE(is_granted(next));
    EXPECT_EQ(now(), released) << "without a delay";
    EXPECT_EQ(client(0).requests(Kind::transaction), executed ? 0U : 1U);
    EXPECT_EQ(client(0).requests(Kind::remove), executed ? 1U : 0U) << "of the marker alone";
    finish();
  }
}

// Each kind of loss leaves the delay, and a release of the lost hold does not end it.
TEST_F(LockDelay, EachLoss_CausesDelay) {
  struct Row {
    const char* loss;
    Request request;
    std::function<void(std::size_t holder)> happens;
  };
  Request limited = delayed();
  limited.limit = {.longest = 3s};
  Request of_thread = delayed();
  of_thread.kind = core::CountKind::lock;
  const std::vector<Row> rows = {
      {"the session expires", delayed(),
       [&](std::size_t) {
         lose(0);
         lock_.world().reconnect(0);  // the release follows in a new session
       }},
      {"the process crashes", delayed(), [&](std::size_t) { lock_.world().disconnect(0); }},
      {"the znode is deleted", delayed(),
       [&](std::size_t holder) {
         run_for(1s);  // until the watch on it is set
         ensemble().remove(lock_.call(holder).node);
       }},
      {"the maximum hold time ends", limited, [](std::size_t) {}},
      {"a request forces the release", delayed(),
       [&](std::size_t) {
         request_release(core::kReleaseRequestForces);
         run();
         withdraw_request();
       }},
      {"the thread exits", of_thread,
       [&](std::size_t holder) { lock_.path_lock(0)->thread_exits(lock_.call(holder).owner); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.loss);
    Request request = row.request;
    request.owner = Owner::unique();
    const auto holder = granted(0, request);
    const auto next = waiting(1);
    row.happens(holder);
    const auto is_gone = [&] { return ensemble().find(lock_.call(holder).node) == nullptr; };
    ASSERT_TRUE(lock_.world().run_until(is_gone));
    run();
    release(holder);
    EXPECT_EQ(markers(), 1U);
    expect_granted_after(kDelay, next);
    EXPECT_EQ(markers(), 0U);
    lock_.world().reconnect(0);
    finish();
  }
}

TEST_F(LockDelay, FirstWaiterCancelled_DelayStartsAgain) {
  granted(0, delayed());
  const auto first = waiting(1);
  const auto second = waiting(2);
  lose(0);
  run_for(kDelay - 1s);
  lock_.cancel(first);
  run();
  expect_granted_after(kDelay, second);
}

TEST_F(LockDelay, SessionOfWaiterEnds_DelayContinues) {
  granted(0, delayed());
  const auto next = waiting(1);
  lose(0);
  run_for(kDelay - 1s);
  lose(1);
  reconnect(1);
  EXPECT_EQ(lock_.call(next).outcomes, 0);
  expect_granted_after(1s, next);
}

TEST_F(LockDelay, CallCancelled_LeavesNoTimer) {
  granted(0, delayed(24h));
  lose(0);
  lock_.cancel(waiting(1));
  run();
  const std::size_t timers = lock_.world().clock().pending();
  for (int i = 0; i < 3; ++i) {
    lock_.cancel(waiting(1));
    run();
  }
  EXPECT_EQ(lock_.world().clock().pending(), timers);
  ASSERT_EQ(ensemble().remove(child(lock_.nodes().at(0))), Status::ok);
}

class LockDelayKinds : public LockDelay {
 protected:
  std::size_t delayed_writer(Owner owner = Owner::unique(),
                             core::CountKind kind = core::CountKind::hold) {
    auto writing = LockWorld::to_write(owner);
    writing.lock_delay = kDelay;
    writing.kind = kind;
    return granted(0, writing);
  }
};

// The first reader deletes the marker before the timer of the second one runs.
TEST_F(LockDelayKinds, ReadersOfOneClient_WaitForOneDelay) {
  delayed_writer();
  const auto one = waiting(1, LockWorld::to_read());
  const auto two = waiting(1, LockWorld::to_read());
  lose(0);
  run_for(kDelay - 1ns);
  for (int step = 0; step < 100 && !is_granted(one); ++step) {
    lock_.world().run({Step::Kind::timer});
    for (int message = 0; message < 10; ++message) {
      lock_.world().run({Step::Kind::serve, 1});
      lock_.world().run({Step::Kind::receive, 1});
    }
  }
  run();
  EXPECT_TRUE(is_granted(one) && is_granted(two));
}

// A mutex keeps its znode. Its owner only reads from then on, so the next contender waits for no
// delay.
TEST_F(LockDelayKinds, MutexDowngraded_MarkerIsDeleted) {
  auto writing = delayed(kDelay);
  writing.owner = Owner::unique();
  const auto writer = granted(0, writing);
  granted(0, LockWorld::to_read(writing.owner));
  EXPECT_EQ(markers(), 1U);
  lock_.release(writer);
  run();
  EXPECT_EQ(markers(), 0U);
}

// The downgrade and the delete of the marker are one transaction. With two, readers could wait for
// a marker without a delay.
TEST_F(LockDelayKinds, Downgrade_DeletesMarkerInOneTransaction) {
  const std::vector<NamedFault> troubles = {
      {"none", [](World&) {}},
      {"put off", [](World& w) { w.fail_next(0, Kind::transaction, Status::throttled); }},
      {"put off, then released",
       [](World& w) { w.fail_next(0, Kind::transaction, Status::throttled); }},
      {"reply lost", [](World& w) { w.lose_reply(0, Kind::transaction); }},
      {"request lost", [](World& w) { w.lose_request(0, Kind::transaction); }},
      {"refused", [](World& w) { w.fail_next(0, Kind::transaction, Status::no_auth); }},
      {"marker deleted", [](World& w) {
         const auto& names = w.ensemble().find(LockWorld::kPath)->children;
         const auto is_marker = [](const auto& name) { return !!core::DelayMarker::parse(name); };
         w.ensemble().remove(child(*std::ranges::find_if(names, is_marker)));
       }}};
  for (const auto& [name, happens] : troubles) {
    SCOPED_TRACE(name);
    const Owner owner = Owner::unique();
    const auto writer = delayed_writer(owner);
    const auto reader = granted(0, LockWorld::to_read(owner));
    const auto other = waiting(1, LockWorld::to_read());
    happens(world());
    lock_.release(writer);
    while (lock_.has_work(0) && step()) EXPECT_EQ(lock_.violation(), "");
    EXPECT_TRUE(lock_.has_work(0) || markers() == 0) << "flush() waits for the delete";
    EXPECT_EQ(lock_.nodes().size(), 2 + markers()) << "both or none";
    if (name == std::string("put off, then released")) {
      finish();
      continue;
    }
    lock_.world().reconnect(0);
    run_for(250ms);
    EXPECT_EQ(markers(), 0U);
    EXPECT_EQ(is_granted(other), name != std::string("refused"));
    EXPECT_EQ(lock_.call(reader).hold.state(), HoldState::held);
    finish();
  }
}

// The work of an ended thread can be at any point, so its owner is not downgraded.
TEST_F(LockDelayKinds, ThreadExited_NewReaderWaitsForDelay) {
  const Owner owner = Owner::unique();
  delayed_writer(owner, core::CountKind::lock);
  const auto reader = granted(0, LockWorld::to_read(owner));
  const auto next = waiting(1, LockWorld::to_read());
  lock_.path_lock(0)->thread_exits(owner);
  run_for(1s);
  EXPECT_FALSE(is_granted(next));
  release(reader);
  expect_granted_after(kDelay, next);
}

TEST_F(LockDelayKinds, MarkerCannotBeDeleted_ReleaseDeletesZnode) {
  const auto holder = granted(0, delayed());
  const std::string marker = child(marker_nodes().at(0));
  ASSERT_EQ(ensemble().create(marker + "/somebody's"), Status::ok);
  release(holder);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  ASSERT_EQ(ensemble().remove(marker + "/somebody's"), Status::ok);
  const auto next = lock_.acquire(2);  // it removes what is left
  run_for(kDelay);
  EXPECT_TRUE(is_granted(next));
}

TEST_F(LockDelayKinds, ZnodeDeletedByHand_ReleaseDeletesMarker) {
  const auto holder = granted(0, delayed());
  ASSERT_EQ(ensemble().remove(lock_.call(holder).node), Status::ok);
  release(holder);  // before it receives the event
  EXPECT_EQ(lock_.nodes().size(), 0U);
}

// The numbers restart. A znode gets the old name before the holder learns of its loss.
TEST_F(LockDelayKinds, PathRecreated_LeavesMarkerOfOtherHolder) {
  const auto holder = granted(0, delayed());
  remove_path();
  release(granted(1));
  const auto other = granted(1, delayed());
  ASSERT_EQ(lock_.call(other).node, lock_.call(holder).node);
  ASSERT_EQ(lock_.call(holder).hold.state(), HoldState::held);
  release(holder);
  EXPECT_EQ(lock_.nodes().size(), 2U) << "the other's znode and marker";
}

// The marker is created while a znode of that name exists, but that znode is another client's.
TEST_F(LockDelayKinds, MarkerBesideForeignZnode_GrantsNothing) {
  const auto holder = granted(0);
  const auto next = waiting(1, delayed());
  release_node(holder);
  while (lock_.nodes().size() > 1) lock_.world().run({Step::Kind::serve, 0});
  while (client(1).can_receive()) lock_.world().run({Step::Kind::receive, 1});
  ASSERT_EQ(client(1).requests(Kind::transaction), 1U) << "it is in flight";
  remove_path();
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  std::vector<std::string> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(*ensemble().create_sequential(LockWorld::kPath, "lock-"));
  }
  run();
  EXPECT_FALSE(is_granted(next));
  EXPECT_EQ(markers(), 0U);
  for (const auto& stranger : strangers) {
    ASSERT_EQ(ensemble().remove(child(stranger)), Status::ok);
  }
  run();
  EXPECT_EQ(markers(), 1U) << "it is granted";
}

}  // namespace
}  // namespace zklock::model
