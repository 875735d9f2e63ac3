// SPDX-License-Identifier: Apache-2.0
// QuorumMutex over three independent servers, of which the tests kill some.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "support/expire_session.h"

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
  static constexpr std::size_t kNone = kEnsembles;

  // A process with its clients; one ensemble may be unreachable for it.
  struct Contender {
    std::array<std::unique_ptr<Client>, kEnsembles> clients;
    std::unique_ptr<QuorumMutex> mutex;
    QuorumMutex* operator->() const { return mutex.get(); }
    QuorumMutex::Clients all() const { return {*clients[0], *clients[1], *clients[2]}; }
  };

  void SetUp() override {
    for (ZooKeeperServer& server : servers_) server.start();
    for (ZooKeeperServer& server : servers_)
      ASSERT_TRUE(server.wait_until_serving()) << server.log();
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
      if (i != unreachable && servers_.at(i).running()) {
        EXPECT_TRUE(c.clients.at(i)->wait_until_connected(kPatience));
      }
    }
    c.mutex = std::make_unique<QuorumMutex>(c.all(), kPath, options);
    return c;
  }

  std::size_t nodes(std::size_t ensemble) {
    return RawClient(servers_.at(ensemble).hosts()).children(kPath).names.size();
  }
  // Waits for these counts of children of the lock path. Servers that are down are skipped.
  bool reaches_nodes(const std::array<std::size_t, kEnsembles>& counts) {
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      if (!servers_.at(i).running()) continue;
      RawClient raw(servers_.at(i).hosts());
      const auto is_there = [&] { return raw.children(kPath).names.size() == counts.at(i); };
      if (!eventually(is_there, kPatience)) return false;
    }
    return true;
  }
  static std::string taken(const QuorumHold& hold) {
    std::string text;
    for (const Hold& single : hold.holds()) text += single ? "x" : "-";
    return text;
  }
  static bool becomes(const Hold& hold, HoldState state) {
    return eventually([&] { return hold.state() == state; }, kPatience);
  }
  // Ends the session, and waits until the client has a new one.
  void expire(const Contender& c, std::size_t ensemble) {
    const Client& client = *c.clients.at(ensemble);
    const auto session = client.session_id();
    expire_session(servers_.at(ensemble).hosts(), session);
    EXPECT_TRUE(eventually(
        [&] { return client.session_id() != 0 && client.session_id() != session; }, kPatience));
  }

  std::array<ZooKeeperServer, kEnsembles> servers_;
  ZooKeeperServer nowhere_;  // never started, so unreachable
};

// ---- with all ensembles up ----------------------------------------------------------------------

TEST_F(Quorum, AllEnsemblesUp_HoldsAll) {
  const Contender c = contender();
  QuorumHold hold = c->acquire();
  EXPECT_EQ(taken(hold), "xxx");
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
  EXPECT_FALSE(hold.loss_token().stop_requested());
  EXPECT_EQ(c->hold_count(), 1);
  EXPECT_EQ(c->path(), kPath);
  EXPECT_TRUE(reaches_nodes({1, 1, 1}));

  const Contender other = contender();
  EXPECT_FALSE(other->try_lock());
  EXPECT_FALSE(other->try_lock_for(kShort));
  hold.release();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
  EXPECT_TRUE(other->try_lock());
  other->unlock();
}

TEST_F(Quorum, BadInput_IsRefused) {
  const Contender c = contender();
  const auto made_of = [](const QuorumMutex::Clients& clients, const std::string& path,
                          QuorumOptions options = {}) {
    return error_text_of([&] { return QuorumMutex(clients, path, options).path(); });
  };
  EXPECT_EQ(made_of({}, kPath), "lock /lock: the list of clients is empty [zklock:3]");
  EXPECT_EQ(made_of({*c.clients[0], *c.clients[1], *c.clients[0]}, kPath),
            "lock /lock: a client is given twice; give one client for each ensemble [zklock:3]");
  EXPECT_EQ(made_of(c.all(), kPath, {.ensemble_timeout = 0ms}),
            "lock /lock: the ensemble timeout is not positive [zklock:3]");
  EXPECT_EQ(made_of(c.all(), kPath, {.max_hold = 0ms}),
            "lock /lock: the maximum hold time must be positive, not 0 ms [zklock:3]");
  EXPECT_EQ(made_of(c.all(), "lock"), "lock lock: the path does not begin with a slash [zklock:1]");
  EXPECT_EQ(made_of({*c.clients[0]}, kPath), "");
  EXPECT_EQ(made_of({*c.clients[0], *c.clients[1]}, kPath), "");
  c.clients[0]->close();
  EXPECT_EQ(made_of(c.all(), kPath), "");
  c.clients[1]->close();
  EXPECT_EQ(error_of([&] { return QuorumMutex(c.all(), kPath).path(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { c->lock(); }), Errc::closed);
}

TEST_F(Quorum, TimeoutOrStop_LeavesNoNode) {
  const Contender c = contender();
  ReentrantMutex second(*c.clients[1], kPath);
  const Hold block = second.acquire({.owner = Owner::unique()});
  ReentrantMutex third(*c.clients[2], kPath);
  const Hold block_too = third.acquire({.owner = Owner::unique()});
  const auto deadline = LeaseClock::now() + kShort;
  EXPECT_FALSE(static_cast<bool>(c->acquire({.deadline = deadline})));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  EXPECT_FALSE(c->try_lock());
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  std::stop_source stop;
  auto locking = in_thread([&] { return c->lock(stop.get_token()); });
  ASSERT_TRUE(reaches_nodes({1, 2, 1}));
  stop.request_stop();
  EXPECT_FALSE(get(locking));
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
}

TEST_F(Quorum, OneEnsembleHeldByOthers_IsNotWaitedFor) {
  const Contender c = contender();
  ReentrantMutex last(*c.clients[2], kPath);
  const Hold block = last.acquire({.owner = Owner::unique()});
  QuorumHold hold = c->acquire({.deadline = kPatience});
  EXPECT_EQ(taken(hold), "xx-");
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(reaches_nodes({1, 1, 1}));  // the attempt at the last one left no znode
}

// ---- ensembles that are down --------------------------------------------------------------------

TEST_F(Quorum, MinorityDown_IsSkipped) {
  servers_[0].kill_hard();
  const Contender c = contender({.ensemble_timeout = kShort});
  c->lock();
  EXPECT_EQ(c->hold_count(), 1);
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  EXPECT_FALSE(contender({.ensemble_timeout = kShort})->try_lock());
  c->unlock();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, UnreachableEnsemble_IsSkippedAfterItsTimeShare) {
  servers_[1].kill_hard();
  const Contender c = contender();  // kLong: it would wait too long
  EXPECT_EQ(taken(c->acquire({.deadline = 3 * kShort})), "x-x");
  auto again = c->async_acquire();  // without a deadline
  EXPECT_EQ(taken(get(again)), "x-x");
  servers_[1].start();
  ASSERT_TRUE(c.clients[1]->wait_until_connected(kPatience));
  EXPECT_EQ(taken(c->acquire({.deadline = kPatience})), "xxx");
}

TEST_F(Quorum, NotYetConnected_WaitsForConnections) {
  servers_[0].kill_hard();
  servers_[1].kill_hard();
  const Contender c = contender();
  auto waiting = c->async_acquire();
  servers_[0].start();
  servers_[1].start();
  EXPECT_TRUE(static_cast<bool>(get(waiting)));
}

TEST_F(Quorum, MajorityDown_ThrowsNotConnected) {
  servers_[0].kill_hard();
  servers_[2].kill_hard();
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
  QuorumHold hold = c->acquire({.deadline = kPatience});
  EXPECT_EQ(taken(hold), "-xx");
  hold.release();
  servers_[0].resume();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
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
      kPatience));
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, MajorityReturnsBeforeDeadline_IsGranted) {
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds(200)});
  servers_[0].kill_hard();
  servers_[2].kill_hard();
  EXPECT_EQ(error_of([&] { return c->acquire(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return c->try_lock(); }), Errc::not_connected);
  auto waiting = c->async_acquire({.deadline = kPatience});
  servers_[0].start();
  servers_[2].start();
  const QuorumHold hold = get(waiting);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Quorum, MajorityDownUntilDeadline_ThrowsThen) {
  servers_[0].kill_hard();
  servers_[2].kill_hard();
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds(200)});
  const auto deadline = LeaseClock::now() + std::chrono::seconds(3);
  EXPECT_EQ(error_of([&] { return c->acquire({.deadline = deadline}); }), Errc::not_connected);
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, SecondEnsembleKilled_HoldIsLost) {
  const Contender c = contender();
  QuorumHold hold = c->acquire();
  ASSERT_EQ(taken(hold), "xxx");
  std::atomic<int> fired{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });

  servers_[1].kill_hard();
  EXPECT_TRUE(becomes(hold[1], HoldState::lost));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
  EXPECT_EQ(c->hold_count(), 1);
  const Contender other = contender({.ensemble_timeout = kShort});
  EXPECT_FALSE(other->try_lock());
  EXPECT_EQ(fired, 0);

  servers_[0].kill_hard();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kPatience));
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kPatience));
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
  servers_[0].kill_hard();
  ASSERT_TRUE(reaches_nodes({0, 2, 1}));  // the queue in which it waits now
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  QuorumHold next = get(waiting);
  EXPECT_EQ(taken(next), "-xx");
  EXPECT_EQ(next.state(), HoldState::held);
}

TEST_F(Quorum, TwoKilledWhileWaiting_CallThrowsAndHoldIsLost) {
  const Contender holder = contender({.ensemble_timeout = kShort});
  const Contender waiter = contender({.ensemble_timeout = kShort});
  const QuorumHold hold = holder->acquire();
  auto waiting = in_thread([&] { waiter->lock(); });
  ASSERT_TRUE(reaches_nodes({2, 1, 1}));
  servers_[0].kill_hard();
  servers_[1].kill_hard();
  EXPECT_EQ(error_of([&] { get(waiting); }), Errc::not_connected);
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kPatience));
  EXPECT_TRUE(reaches_nodes({0, 0, 1}));
}

// ---- sessions -----------------------------------------------------------------------------------

TEST_F(Quorum, OnePartLostWhileWaiting_MajorityIsGranted) {
  const Contender c = contender();
  const Contender other = contender();
  ReentrantMutex others(*other.clients[1], kPath);
  Hold block = others.acquire();
  auto waiting = c->async_acquire();
  ASSERT_TRUE(reaches_nodes({1, 2, 0}));
  expire(c, 0);
  ASSERT_TRUE(reaches_nodes({0, 2, 0}));
  block.release();
  QuorumHold hold = get(waiting);
  EXPECT_EQ(taken(hold), "-xx");
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Quorum, MajorityLostWhileWaiting_IsNotGranted) {
  Contender c = contender({.ensemble_timeout = kLong});
  const Contender other = contender();
  ReentrantMutex others(*other.clients[2], kPath);
  ReentrantMutex others_second(*other.clients[1], kPath);
  Hold block_last = others.acquire();
  Hold block = others_second.acquire();
  auto waiting = c->async_acquire();
  ASSERT_TRUE(reaches_nodes({1, 2, 1}));
  expire(c, 0);
  ASSERT_TRUE(reaches_nodes({0, 2, 1}));
  block.release();  // it holds the second and waits for the last
  ASSERT_TRUE(reaches_nodes({0, 1, 2}));
  expire(c, 1);
  ASSERT_TRUE(eventually([&] { return nodes(0) == 1; }, kPatience));  // it started again
  const QuorumHold hold = get(waiting);
  EXPECT_EQ(taken(hold), "xx-");
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Quorum, SecondSessionExpires_HoldIsLost) {
  const Contender c = contender();
  QuorumHold hold = c->acquire();
  expire(c, 2);
  EXPECT_TRUE(becomes(hold[2], HoldState::lost));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.is_valid());
  EXPECT_FALSE(hold.loss_token().stop_requested());
  expire(c, 0);
  EXPECT_TRUE(becomes(hold[0], HoldState::lost));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_FALSE(hold.is_valid());
  EXPECT_TRUE(hold.loss_token().stop_requested());
  hold.release();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

// ---- counts -------------------------------------------------------------------------------------

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
  std::array<std::vector<std::string>, kEnsembles> heard;
  const auto all_ended = [&] {
    heard = {};
    for (const LockEvent& event : log.all()) {
      EXPECT_EQ(event.path, kPath);
      EXPECT_EQ(event.token, tokens.at(event.part_index));
      // A session that ends may add a `suspended` or `resumed` event.
      const std::string text = describe(event);
      if (text != "suspended" && text != "resumed") heard.at(event.part_index).push_back(text);
    }
    return std::ranges::all_of(heard, [](const auto& texts) { return texts.size() == 2; });
  };
  ASSERT_TRUE(eventually(all_ended, kPatience));
  const std::vector<std::string> released{"acquired", "released"};
  const std::vector<std::string> lost{"acquired", "lost"};
  EXPECT_EQ(heard, (std::array{released, lost, released}));
}

TEST_F(Quorum, MaxHoldElapsed_EndsTheWhole) {
  EventLog log;
  const Contender c = contender({.ensemble_timeout = kLong,
                                 .listener = log.listener(),
                                 .max_hold = std::chrono::milliseconds(500),
                                 .expiry_notice = std::chrono::milliseconds(100)});
  QuorumHold hold = c->acquire();
  ASSERT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kPatience));
  EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kPatience));
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
  const auto expired = [&] { return std::ranges::count(log.texts(), "expired"); };
  EXPECT_TRUE(eventually([&] { return expired() == kEnsembles; }, kPatience));
}

TEST_F(Quorum, Unlock_UndoesPartsOfItsLock) {
  servers_[0].kill_hard();
  const Contender c = contender();
  ASSERT_TRUE(c->try_lock_for(3 * kShort));  // the second and the third ensemble
  servers_[0].start();
  ASSERT_TRUE(c.clients[0]->wait_until_connected(kPatience));
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

TEST_F(Quorum, ThreadEndsWhileLocked_ReleasesAllParts) {
  const Contender c = contender();
  auto locking = in_thread([&] { c->lock(); });
  get(locking);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

// ---- order --------------------------------------------------------------------------------------

TEST_F(Quorum, DifferentMajorities_ExcludeEachOther) {
  for (std::size_t of_holder = 0; of_holder < kEnsembles; ++of_holder) {
    const Contender holder = contender({.ensemble_timeout = kShort}, of_holder);
    const QuorumHold hold = holder->acquire();
    ASSERT_EQ(hold.state(), HoldState::held);
    ASSERT_FALSE(static_cast<bool>(hold[of_holder]));
    const std::size_t of_other = (of_holder + 1) % kEnsembles;
    EXPECT_FALSE(contender({.ensemble_timeout = kShort}, of_other)->try_lock());
  }
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

TEST_F(Quorum, ManyThreadsOfTwoClientSets_ExcludeEachOther) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 5;
  const std::array<Contender, 2> processes{contender(), contender()};
  int done = 0;  // guarded by the lock
  std::vector<std::future<void>> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.push_back(in_thread([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        const std::scoped_lock guard(*processes.at(i % 2).mutex);
        ++done;
      }
    }));
  }
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(done, kThreads * kRounds);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

}  // namespace
}  // namespace zklock::testing
