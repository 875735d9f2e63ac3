// SPDX-License-Identifier: Apache-2.0
// QuorumMutex over three independent servers, of which some are down.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

constexpr std::size_t kEnsembles = 3;

// Longer than a test: no ensemble is skipped because of this timeout.
constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);

// A third of it is enough for a running ensemble, even on a busy machine. Each ensemble gets a
// share of the deadline, and counts as down if it has not answered by then.
constexpr std::chrono::milliseconds kShort{5000};

class Quorum : public ::testing::Test {
 protected:
  using Servers = std::array<TestServer, kEnsembles>;
  static constexpr std::size_t kNone = kEnsembles;

  // A process with its clients; one ensemble may be unreachable for it.
  struct Contender {
    std::array<std::unique_ptr<Client>, kEnsembles> clients;
    std::unique_ptr<QuorumMutex> mutex;
    QuorumMutex* operator->() const { return mutex.get(); }
    QuorumMutex::Clients all() const { return {*clients[0], *clients[1], *clients[2]}; }
  };

  static void SetUpTestSuite() { of_all_tests_ = std::make_unique<Servers>(); }
  static void TearDownTestSuite() { of_all_tests_.reset(); }

  // The test before may have left servers dead or paused, and znodes of sessions that have not
  // expired.
  void SetUp() override {
    for (TestServer& server : servers_) server.start();  // all at once
    for (TestServer& server : servers_) {
      serve(server);
      ASSERT_EQ(RawClient(server.hosts()).delete_recursive(kPath), ZOK);
    }
  }

  Contender contender(QuorumOptions options = {.ensemble_timeout = kLong},
                      std::size_t unreachable = kNone,
                      std::chrono::seconds session_timeout = std::chrono::seconds(6)) {
    Contender c;
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      ClientOptions client;
      client.hosts = i == unreachable ? nowhere_.hosts() : servers_.at(i).hosts();
      client.session_timeout = session_timeout;  // long: three servers load the machine
      client.connection_timeout = kLong;
      c.clients.at(i) = std::make_unique<Client>(client);
    }
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      if (i != unreachable && servers_.at(i).is_running()) {
        EXPECT_TRUE(c.clients.at(i)->wait_until_connected(kTestTimeout));
      }
    }
    c.mutex = std::make_unique<QuorumMutex>(c.all(), kPath, options);
    return c;
  }

  std::size_t nodes(std::size_t ensemble) {
    return without_hold_markers(RawClient(servers_.at(ensemble).hosts()).children(kPath).names)
        .size();
  }
  // Waits for these counts of contenders of the lock path. Servers that are down are skipped.
  bool reaches_nodes(const std::array<std::size_t, kEnsembles>& counts) {
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      if (!servers_.at(i).is_running()) continue;
      RawClient raw(servers_.at(i).hosts());
      const auto is_there = [&] {
        return without_hold_markers(raw.children(kPath).names).size() == counts.at(i);
      };
      if (!eventually(is_there, kTestTimeout)) return false;
    }
    return true;
  }
  static std::string taken(const QuorumHold& hold) {
    std::string text;
    for (const Hold& single : hold.holds()) text += single ? "x" : "-";
    return text;
  }
  static bool becomes(const Hold& hold, HoldState state) {
    return eventually([&] { return hold.state() == state; }, kTestTimeout);
  }
  // Ends the session, and waits until the client has a new one.
  void expire(const Contender& c, std::size_t ensemble) {
    const Client& client = *c.clients.at(ensemble);
    const auto session = client.session_id();
    expire_session(servers_.at(ensemble).hosts(), session);
    EXPECT_TRUE(eventually(
        [&] { return client.session_id() != 0 && client.session_id() != session; }, kTestTimeout));
  }

  static inline std::unique_ptr<Servers> of_all_tests_;
  Servers& servers_ = *of_all_tests_;
  TestServer nowhere_;  // never started, so unreachable
};

TEST_F(Quorum, OneEnsembleHeldByOthers_IsNotWaitedFor) {
  const Contender c = contender();
  ReentrantMutex last(*c.clients[2], kPath);
  const Hold block = last.acquire({.owner = Owner::unique()});
  QuorumHold hold = c->acquire({.deadline = kTestTimeout});
  EXPECT_EQ(taken(hold), "xx-");
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(reaches_nodes({1, 1, 1}));  // the attempt at the last one left no znode
}

TEST_F(Quorum, Listener_IsNotifiedForEachEnsemble) {
  EventLog log;
  const Contender c = contender({.ensemble_timeout = kLong, .listener = log.listener()});
  QuorumHold hold = c->acquire();
  ASSERT_TRUE(log.reaches({"acquired", "acquired", "acquired"}));
  expire(c, 1);
  ASSERT_TRUE(becomes(hold[1], HoldState::lost));
  ASSERT_EQ(hold.state(), HoldState::held);
  const std::array tokens{hold[0].token(), hold[1].token(), hold[2].token()};
  hold.release();
  std::array<std::vector<std::string>, kEnsembles> received;
  const auto all_ended = [&] {
    received = {};
    for (const LockEvent& event : log.all()) {
      EXPECT_EQ(event.path, kPath);
      EXPECT_EQ(event.token, tokens.at(event.part_index));
      // A session that ends may add a `suspended` or `resumed` event.
      const std::string text = describe(event);
      if (text != "suspended" && text != "resumed") received.at(event.part_index).push_back(text);
    }
    return std::ranges::all_of(received, [](const auto& texts) { return texts.size() == 2; });
  };
  ASSERT_TRUE(eventually(all_ended, kTestTimeout));
  const std::vector<std::string> released{"acquired", "released"};
  const std::vector<std::string> lost{"acquired", "lost"};
  EXPECT_EQ(received, (std::array{released, lost, released}));
}

TEST_F(Quorum, Unlock_UndoesPartsOfItsLock) {
  servers_[0].kill();
  const Contender c = contender();
  ASSERT_TRUE(c->try_lock_for(3 * kShort));  // the second and the third ensemble
  servers_[0].start();
  ASSERT_TRUE(c.clients[0]->wait_until_connected(kTestTimeout));
  c->lock();  // all three
  EXPECT_EQ(c->hold_count(), 2);
  ASSERT_TRUE(reaches_nodes({1, 1, 1}));
  c->unlock();
  EXPECT_EQ(c->hold_count(), 1);
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  c->unlock();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
  EXPECT_EQ(error_of([&] { c->unlock(); }), Errc::not_owner);
}

// ---- order --------------------------------------------------------------------------------------

// ---- ensembles that are down --------------------------------------------------------------------

TEST_F(Quorum, MinorityDown_IsSkipped) {
  servers_[0].kill();
  const Contender c = contender({.ensemble_timeout = kShort});
  c->lock();
  EXPECT_EQ(c->hold_count(), 1);
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  EXPECT_FALSE(contender({.ensemble_timeout = kShort})->try_lock());
  c->unlock();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, UnreachableEnsemble_IsSkippedAfterItsTimeShare) {
  servers_[1].kill();
  const Contender c = contender();  // kLong: it would wait too long
  EXPECT_EQ(taken(c->acquire({.deadline = 3 * kShort})), "x-x");
  auto again = c->async_acquire();  // without a deadline
  EXPECT_EQ(taken(get(again)), "x-x");
  servers_[1].start();
  ASSERT_TRUE(c.clients[1]->wait_until_connected(kTestTimeout));
  EXPECT_EQ(taken(c->acquire({.deadline = kTestTimeout})), "xxx");
}

TEST_F(Quorum, MajorityDown_ThrowsNotConnected) {
  servers_[0].kill();
  servers_[2].kill();
  const Contender c = contender({.ensemble_timeout = kShort});
  const std::string text = error_text_of([&] { return c->acquire(); });
  EXPECT_TRUE(text.starts_with("lock /lock: no majority of the ensembles is left (")) << text;
  EXPECT_NE(text.find(servers_[0].hosts()), std::string::npos) << text;
  EXPECT_EQ(text.find(servers_[1].hosts()), std::string::npos) << text;
  EXPECT_NE(text.find(servers_[2].hosts()), std::string::npos) << text;
  EXPECT_EQ(error_of([&] { c->lock(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return c->try_lock(); }), Errc::not_connected);
  auto future = c->async_acquire({.deadline = std::chrono::seconds(1)});
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::not_connected);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

// The server accepts connections but does not answer.
TEST_F(Quorum, EnsemblePaused_IsSkippedAndNodeDeletedLater) {
  const Contender c = contender({.ensemble_timeout = kShort});
  servers_[0].pause();
  QuorumHold hold = c->acquire({.deadline = kTestTimeout});
  EXPECT_EQ(taken(hold), "-xx");
  hold.release();
  servers_[0].resume();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, MajorityReturnsBeforeDeadline_IsGranted) {
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds(200)});
  servers_[0].kill();
  servers_[2].kill();
  EXPECT_EQ(error_of([&] { return c->acquire(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return c->try_lock(); }), Errc::not_connected);
  auto waiting = c->async_acquire({.deadline = kTestTimeout});
  servers_[0].start();
  servers_[2].start();
  const QuorumHold hold = get(waiting);
  EXPECT_EQ(hold.state(), HoldState::held);
}

// Each contender has another unreachable ensemble, so each acquires another majority.
TEST_F(Quorum, DifferentEnsemblesDown_ExcludesWithoutDeadlock) {
  constexpr int kRounds = 15;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int done = 0;  // guarded by the lock
  std::vector<std::future<void>> contenders;
  for (std::size_t unreachable = 0; unreachable < kEnsembles; ++unreachable) {
    contenders.push_back(in_thread([&, unreachable] {
      const Contender c = contender({.ensemble_timeout = kShort}, unreachable);
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard guard(*c.mutex);
        if (++inside != 1) ++overlaps;
        ++done;
        --inside;
      }
    }));
  }
  for (auto& each : contenders) get(each);
  EXPECT_EQ(done, 3 * kRounds);
  EXPECT_EQ(overlaps, 0);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, LongestEnsembleTimeout_WaitsUntilDeadline) {
  servers_[0].kill();
  servers_[2].kill();
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds::max()});
  const auto deadline = LeaseClock::now() + std::chrono::milliseconds(500);
  EXPECT_EQ(error_of([&] { return c->acquire({.deadline = deadline}); }), Errc::not_connected);
  EXPECT_GE(LeaseClock::now(), deadline);
}

TEST_F(Quorum, SecondEnsembleKilled_HoldIsLost) {
  const Contender c = contender();
  QuorumHold hold = c->acquire();
  ASSERT_EQ(taken(hold), "xxx");
  std::atomic<int> fired{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });

  servers_[1].kill();
  EXPECT_TRUE(becomes(hold[1], HoldState::lost));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
  EXPECT_EQ(c->hold_count(), 1);
  const Contender other = contender({.ensemble_timeout = kShort});
  EXPECT_FALSE(other->try_lock());
  EXPECT_EQ(fired, 0);

  servers_[0].kill();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kTestTimeout));
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(hold[2].state(), HoldState::held);
  hold.release();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
  EXPECT_EQ(fired, 1);
}

TEST_F(Quorum, EnsembleKilledWhileWaiting_IsSkipped) {
  const Contender holder = contender({.ensemble_timeout = kShort});
  const Contender waiter = contender({.ensemble_timeout = kShort});
  QuorumHold hold = holder->acquire();
  auto waiting = waiter->async_acquire();
  ASSERT_TRUE(reaches_nodes({2, 1, 1}));
  servers_[0].kill();
  ASSERT_TRUE(reaches_nodes({0, 2, 1}));  // the queue in which it waits now
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  QuorumHold next = get(waiting);
  EXPECT_EQ(taken(next), "-xx");
  EXPECT_EQ(next.state(), HoldState::held);
}

// The session timeout is so long that the client stays connected to the paused server.
TEST_F(Quorum, PausedButConnected_IsSkippedUntilItReplies) {
  const Contender c = contender({.ensemble_timeout = kLong}, kNone, std::chrono::seconds(60));
  servers_[0].pause();
  EXPECT_EQ(taken(c->acquire({.deadline = 3 * kShort})), "-xx");
  for (int i = 0; i < 4; ++i) {
    auto again = c->async_acquire();  // without a deadline, it would wait for kLong
    EXPECT_EQ(taken(get(again)), "-xx");
  }
  EXPECT_TRUE(c->try_lock());
  c->unlock();
  ASSERT_TRUE(c.clients[0]->is_connected()) << "it was disconnected before the test was over";
  servers_[0].resume();
  EXPECT_TRUE(eventually(
      [&] {
        auto each = c->async_acquire();
        return taken(get(each)) == "xxx";
      },
      kTestTimeout));
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, TwoKilledWhileWaiting_CallThrowsAndHoldIsLost) {
  const Contender holder = contender({.ensemble_timeout = kShort});
  const Contender waiter = contender({.ensemble_timeout = kShort});
  const QuorumHold hold = holder->acquire();
  auto waiting = in_thread([&] { waiter->lock(); });
  ASSERT_TRUE(reaches_nodes({2, 1, 1}));
  servers_[0].kill();
  servers_[1].kill();
  EXPECT_EQ(error_of([&] { get(waiting); }), Errc::not_connected);
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_TRUE(reaches_nodes({0, 0, 1}));
}

}  // namespace
}  // namespace zklock::testing
