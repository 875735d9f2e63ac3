// SPDX-License-Identifier: Apache-2.0
// A process that cannot create a thread any more: what a client guarantees, and what it reports. The
// names of the threads.
#include "support/no_threads.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "conformance/single_thread.h"
#include "support/scarce_threads.h"
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

// Returns the count of sessions of the shared server; 0 if this program did not start it.
int sessions() {
  constexpr std::string_view kKey = "zk_global_sessions\t";
  const TestServer* const server = SharedServer::server();
  const std::string answer = server != nullptr ? server->four_letter_word("mntr").value_or("") : "";
  const auto found = answer.find(kKey);
  return found == std::string::npos ? 0 : std::atoi(answer.c_str() + found + kKey.size());
}

// A client has threads for the log, timers, local replies, callbacks, losses and the session.
TEST_F(NoThreadsTest, AnyThreadMissing_ConstructorLeavesNothing) {
  connect();  // the first client of a process opens what stays for ever
  const int sessions_before = sessions();
  const std::size_t threads_before = entries("task");
  const std::size_t descriptors_before = entries("fd");
  constexpr std::size_t kThreads = 6;
  for (std::size_t available = 0; available <= kThreads; ++available) {
    SCOPED_TRACE(available);
    const ScarceThreads scarce(available);
    std::unique_ptr<Client> client;
    const std::string text = error_text_of([&] {
      client = std::make_unique<Client>(options());
      return 0;
    });
    EXPECT_EQ(scarce.ran_out(), available < kThreads);
    if (available < kThreads) {
      EXPECT_NE(text.find(kCause), std::string::npos) << text;
    } else {
      ASSERT_TRUE(client);
      EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
      client.reset();
    }
    EXPECT_EQ(client, nullptr);
    EXPECT_EQ(scarce.unjoined(), 0U);
    // No more than before. Less is possible, because threads of earlier tests may end meanwhile.
    EXPECT_LE(entries("fd"), descriptors_before);
    EXPECT_TRUE(eventually([&] { return entries("task") <= threads_before; }, kTestTimeout));
    EXPECT_LE(sessions(), sessions_before);
  }
  EXPECT_TRUE(is_free());
}

TEST_F(NoThreadsTest, HoldLost_IsNotified) {
  const auto client = connect();
  std::atomic<bool> lost = false;
  ReentrantMutex mutex(*client, kPath, {.listener = [&](const LockEvent& event) {
    lost = lost || event.kind == LockEvent::Kind::lost;
  }});
  const NoThreads none;
  std::promise<Hold> granted;
  mutex.async_acquire({.owner = Owner::unique()}, [&](Hold hold, const std::exception_ptr&) {
    granted.set_value(std::move(hold));
  });
  auto grant = granted.get_future();
  const Hold hold = get(grant);
  EXPECT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return lost.load(); }, kTestTimeout));
}

TEST_F(NoThreadsTest, ElectionStarts_ThrowsUntilThereIsAThread) {
  const auto client = connect();
  std::promise<void> leads;
  LeaderElection election(*client, kPath, {.auto_requeue = false},
                          [&](const Leadership&) { leads.set_value(); });
  {
    const NoThreads none;
    EXPECT_THROW(election.start(), std::system_error);
  }
  EXPECT_TRUE(is_free()) << "it does not contend";
  election.start();
  EXPECT_EQ(leads.get_future().wait_for(kTestTimeout), std::future_status::ready);
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

// close() waits at most one second for the callbacks of losses, which is too short on a busy
// machine.
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

// Returns the names of the threads of this process.
std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    if (std::string name; std::getline(comm, name)) names.push_back(std::move(name));
  }
  return names;
}

TEST_F(LockTest, ThreadsOfClient_HaveNames) {
  const auto client = connect();
  // A thread of a client of an earlier test can end later than its client.
  for (const std::string name : {"zklock-session", "zklock-io", "zklock-events", "zklock-timer"}) {
    EXPECT_TRUE(
        eventually([&] { return std::ranges::count(thread_names(), name) == 1; }, kTestTimeout))
        << name;
  }
}

}  // namespace
}  // namespace zklock::testing
