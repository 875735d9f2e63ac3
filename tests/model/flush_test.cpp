// SPDX-License-Identifier: Apache-2.0
// When flush() returns true, the ensemble has confirmed every withdrawal begun before the call. If
// the ACL does not permit a delete, flush() returns false. Also tasks that a caller waits for,
// after their client was closed, too.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/engine/callback/post_or_run.h"

namespace zklock::model {
namespace {

class FlushTest : public PathLockTest {
 protected:
  /// Returns the newest piece of background work.
  detail::BackgroundWork::Id newest() {
    const detail::EngineLock lock({lock_.core(0)});
    return lock_.core(0).work().newest();
  }
  std::size_t nodes_of_client() { return ensemble().ephemerals(client(0).session()).size(); }
  /// Returns the result of flush() with a passed deadline.
  bool flushed() { return lock_.core(0).flush(Deadline::passed()); }

  /// The create of client 0, behind the holder, is unanswered when the call ends. Expects that a
  /// flush() that begins then does not return true before the znode is deleted.
  void expect_withdrawal_is_waited_for(Request holders, Request request) {
    granted(1, std::move(holders));
    const bool times_out = request.timeout.has_value();
    client(0).cut_off();
    const std::size_t call = waiting(0, std::move(request));
    times_out ? run_for(20ms) : lock_.cancel(call);
    expect_ended_with_nothing(call);
    EXPECT_FALSE(flushed());
    const auto last = newest();
    client(0).mend();
    while (!lock_.core(0).wait_for_work(Deadline::passed(), last)) ASSERT_TRUE(step());
    EXPECT_EQ(nodes_of_client(), 0U);
    EXPECT_EQ(client(0).unanswered(), 0U);
    finish();
  }
};

TEST_F(FlushTest, WithdrawnBeforeReply_WaitsForDelete) {
  const std::vector<std::pair<Request, Request>> holders_and_requests = {
      {{}, {.timeout = 20ms}},
      {{}, {}},
      {LockWorld::to_write(), LockWorld::to_read()},
      {LockWorld::permits(1, 1), LockWorld::permits(1, 1)},
      {LockWorld::at_gate(1), LockWorld::at_gate(1)},
      {{}, {.local = {.batch = 8}}}};
  for (const auto& [holder, request] : holders_and_requests) {
    expect_withdrawal_is_waited_for(holder, request);
  }
}

TEST_F(FlushTest, CancelledWhileDisconnected_NoRequestRemains) {
  lock_.world().disconnect(0);
  const std::size_t call = lock_.acquire(0, LockWorld::shared_permits(1, 2));
  run();
  EXPECT_GT(client(0).unanswered(), 0U);
  lock_.cancel(call);
  run();
  EXPECT_EQ(client(0).unanswered(), 0U);
  lock_.world().reconnect(0);
}

// A hold reports its end by the clock. The timer that acts on the end can run later.
TEST_F(FlushTest, EndOfMaxHoldBeforeItsTimer_WaitsForDelete) {
  granted(0, {.limit = {.longest = 1s}});
  lock_.world().clock().hold(1);
  run_for(1s);
  EXPECT_FALSE(flushed());
  lock_.world().clock().release(1);
  run();
  EXPECT_EQ(nodes_of_client(), 0U);
  EXPECT_TRUE(flushed());
}

TEST(BackgroundWork, WorkBegunAfterClose_EndsAtOnce) {
  detail::BackgroundWork work;
  work.close();
  work.begin();
  EXPECT_TRUE(work.is_idle());
  EXPECT_TRUE(work.is_settled(work.newest()));
}

class RefusedDelete : public FlushTest {
 protected:
  void permit_delete(bool permitted) {
    const std::int32_t refused = permitted ? 0 : AclEntry::remove;
    ASSERT_EQ(ensemble().set_acl(LockWorld::kPath, {.everyone = AclEntry::all & ~refused}),
              Status::ok);
  }
  void refused_release() {
    const std::size_t call = granted(0);
    permit_delete(false);
    release(call);
    ASSERT_EQ(nodes_of_client(), 1U);
  }
  void expect_no_auth(std::size_t call) {
    EXPECT_EQ(lock_.call(call).outcomes, 1);
    ASSERT_EQ(error(call), Errc::no_auth);
    const std::string text = lock_.call(call).error->what();
    EXPECT_NE(text.find(LockWorld::kPath), std::string::npos) << text;
    EXPECT_NE(text.find("DELETE"), std::string::npos) << text;
  }
  /// Permits the delete. Expects that flush() sends it again.
  void expect_rest_when_permitted() {
    permit_delete(true);
    EXPECT_FALSE(flushed()) << "it has no reply yet";
    run();
    EXPECT_TRUE(flushed());
  }
};

TEST_F(RefusedDelete, Flush_ReturnsFalseWithoutWaiting) {
  refused_release();
  const auto last = newest();
  EXPECT_FALSE(lock_.core(0).wait_for_work(Deadline::never(), last))
      << "it blocks for ever if this fails";
  EXPECT_FALSE(flushed());
  run();
  EXPECT_FALSE(lock_.core(0).wait_for_work(Deadline::never(), last))
      << "tried again, and refused again";
  expect_rest_when_permitted();
}

TEST_F(RefusedDelete, AcquireDuringRetry_Fails) {
  refused_release();
  client(0).cut_off();
  EXPECT_FALSE(flushed());
  const std::size_t next = lock_.acquire(0);
  client(0).mend();
  run();
  expect_no_auth(next);
  expect_rest_when_permitted();
}

TEST_F(RefusedDelete, OtherPath_IsNotAffected) {
  refused_release();
  cycle_other(lock_.path_lock(0, "/locks/b"));
  expect_rest_when_permitted();
}

TEST_F(RefusedDelete, UnknownPath_IsTriedAgain) {
  ASSERT_EQ(ensemble().create("/locks/b"), Status::ok);
  ASSERT_EQ(ensemble().create("/locks/b/lock-0000000000"), Status::ok);
  const auto permit = [this](std::int32_t all) {
    ASSERT_EQ(ensemble().set_acl("/locks/b", {.everyone = all}), Status::ok);
  };
  permit(AclEntry::all & ~AclEntry::remove);
  lock_.delete_node(0, "/locks/b/lock-0000000000");
  run();
  EXPECT_EQ(lock_.core(0).metrics().refused_deletes, 1U);
  permit(AclEntry::all);
  EXPECT_FALSE(flushed()) << "it has no reply yet";
  run();
  EXPECT_TRUE(flushed());
}

TEST_F(RefusedDelete, BatchBesideRefusedWithdrawal_Fails) {
  const std::size_t holder = granted(1);
  const std::size_t leaving = waiting(0);
  const std::size_t in_place = waiting(0, {.local = {.batch = 8}});
  const std::size_t behind = waiting(0, {.local = {.batch = 8}});
  permit_delete(false);
  lock_.cancel(leaving);
  run();
  for (const std::size_t call : {in_place, behind}) expect_no_auth(call);
  EXPECT_EQ(nodes_of_client(), 2U);
  permit_delete(true);
  lock_.release(holder);
  run();
  expect_rest_when_permitted();
}

TEST_F(RefusedDelete, CallsAfterALossByMaxHold_Fail) {
  granted(0, {.limit = {.longest = 1s}});
  permit_delete(false);
  run_for(3s);
  const std::size_t next = lock_.acquire(0);
  run();
  expect_no_auth(next);
  expect_rest_when_permitted();
}

// The reply and the end of the session are delivered on different threads, so their order varies.
TEST_F(RefusedDelete, RefusalOfRetryAfterEndOfSession_EndsIt) {
  refused_release();
  EXPECT_FALSE(flushed());
  lock_.core(0).on_ended(client(0).session(), Status::session_ended);
  run();
  EXPECT_TRUE(flushed());
  lock_.world().expire(0);
  run_for(1s);
  permit_delete(true);
  granted(0);
}

/// The dispatcher of a closed client.
class RefusingDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()>) override { return false; }
};

class PostOrRun : public PathLockTest {
 protected:
  void send(client::Dispatcher& dispatcher) {
    detail::post_or_run(core_.shared_from_this(), dispatcher, [this, owned = owned_] {
      ++runs_;
      runs_within_ = detail::runs_in_post_or_run();
    });
  }

  detail::ClientCore& core_ = lock_.core(0);
  int runs_ = 0;
  bool runs_within_ = false;
  const std::shared_ptr<int> owned_ = std::make_shared<int>();
};

TEST_F(PostOrRun, Accepted_RunsOnceOnDispatcherAndIsDestroyed) {
  send(core_.loss_dispatcher());
  EXPECT_EQ(runs_, 0) << "not by the sender";
  run();
  EXPECT_EQ(runs_, 1);
  EXPECT_FALSE(runs_within_);
  EXPECT_EQ(owned_.use_count(), 1);
}

// close() does not wait for tasks on a thread that runs one.
TEST_F(PostOrRun, Refused_RunsAtOnce) {
  RefusingDispatcher refusing;
  send(refusing);
  EXPECT_EQ(runs_, 1);
  EXPECT_TRUE(runs_within_);
  EXPECT_FALSE(detail::runs_in_post_or_run());
  EXPECT_EQ(owned_.use_count(), 1);
}

/// Stores one task, as the queue of a user's executor does.
class StoringDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    stored = std::move(task);
    return true;
  }
  std::function<void()> stored;
};

TEST_F(PostOrRun, AcceptedBeforeFork_DoesNotRunInTheChild) {
  StoringDispatcher executor;
  send(executor);
  const pid_t child = ::fork();
  if (child == 0) {
    executor.stored();
    ::_exit(runs_);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  executor.stored();
  EXPECT_EQ(runs_, 1);
}

TEST_F(PostOrRun, RefusedTaskThrows_IsCaught) {
  RefusingDispatcher refusing;
  EXPECT_NO_THROW(detail::post_or_run(core_.shared_from_this(), refusing,
                                      [] { throw std::runtime_error("by the user"); }));
  EXPECT_FALSE(detail::runs_in_post_or_run());
}

}  // namespace
}  // namespace zklock::model
