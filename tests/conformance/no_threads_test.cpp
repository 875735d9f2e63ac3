// SPDX-License-Identifier: Apache-2.0
// A process that cannot create a thread any more: what a client guarantees, and what it reports.
#include "support/no_threads.h"

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "conformance/single_thread.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

const std::string kCause = "the system provides no more threads";

class NoThreadsTest : public LockTest {
 protected:
  void SetUp() override {
    LockTest::SetUp();
    static_cast<void>(raw());  // makes its threads
  }
};

TEST_F(NoThreadsTest, Constructor_ThrowsWithTheCause) {
  const NoThreads none;
  const std::string text = error_text_of([&] { return Client(options()).session_id(); });
  EXPECT_NE(text.find(kCause), std::string::npos) << text;
}

TEST_F(NoThreadsTest, HoldLost_IsNotified) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  const NoThreads none;
  EXPECT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
}

TEST_F(NoThreadsTest, ListenerOfALoss_IsCalled) {
  const auto client = connect();
  std::atomic<bool> lost = false;
  ReentrantMutex mutex(*client, kPath, {.listener = [&](const LockEvent& event) {
    lost = lost || event.kind == LockEvent::Kind::lost;
  }});
  std::optional<NoThreads> none(std::in_place);
  const Hold hold = mutex.acquire();
  EXPECT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return lost.load(); }, kTestTimeout));
  none.reset();
}

TEST_F(NoThreadsTest, HandlerOfAGrant_IsCalled) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  std::atomic<bool> granted = false;
  const NoThreads none;
  mutex.async_acquire({.owner = Owner::unique()}, [&](const Hold& hold, const std::exception_ptr&) {
    granted = static_cast<bool>(hold);
  });
  EXPECT_TRUE(eventually([&] { return granted.load(); }, kTestTimeout));
}

// The executor of a listener may be a strand: nothing else calls the listener.
TEST_F(NoThreadsTest, ListenerWithExecutor_RunsOnTheExecutor) {
  const auto client = connect();
  SingleThread executor;
  std::promise<std::thread::id> own;
  executor([&own] { own.set_value(std::this_thread::get_id()); });
  const std::thread::id expected = own.get_future().get();
  std::atomic<int> elsewhere = 0;
  std::atomic<bool> lost = false;
  ReentrantMutex mutex(
      *client, kPath,
      {.listener =
           [&](const LockEvent& event) {
             if (std::this_thread::get_id() != expected) ++elsewhere;
             lost = lost || event.kind == LockEvent::Kind::lost;
           },
       .executor = [&](std::function<void()> task) { executor(std::move(task)); }});
  const NoThreads none;
  const Hold hold = mutex.acquire();
  EXPECT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return lost.load(); }, kTestTimeout));
  EXPECT_EQ(elsewhere, 0);
}

// close() waits at most one second for the callbacks of losses, which is too short on a busy machine.
TEST_F(NoThreadsTest, ClientIsClosed_LossComesBeforeTheSessionEnds) {
  std::atomic<bool> was_there = false;
  for (int attempt = 0; attempt < 8 && !was_there; ++attempt) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    const Hold hold = mutex.acquire();
    const std::stop_callback on_loss(hold.loss_token(),
                                     [&] { was_there = raw().exists(hold.node()).rc == ZOK; });
    const NoThreads none;
    client->close();
    EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
  }
  EXPECT_TRUE(was_there);
}

// The C client would end the process.
TEST_F(NoThreadsTest, SessionEnds_NextOneIsOpenedLater) {
  const LogCapture log;
  ClientOptions logged = options();
  logged.logger = log.logger();
  const auto client = connect(logged);
  std::optional<NoThreads> none(std::in_place);
  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(eventually([&] { return log.contains(kCause); }, kTestTimeout));
  EXPECT_FALSE(client->is_connected());
  none.reset();
  EXPECT_TRUE(client->wait_until_connected(Deadline(kTestTimeout)));
}

}  // namespace
}  // namespace zklock::testing
