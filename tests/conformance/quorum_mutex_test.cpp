// SPDX-License-Identifier: Apache-2.0
// QuorumMutex over three independent servers.
#include <algorithm>
#include <array>
#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "conformance/quorum_mutex_fixture.h"

namespace zklock::testing {
namespace {

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
  EXPECT_EQ(made_of({}, kPath), "lock /lock: the list of clients is empty [invalid_option]");
  EXPECT_EQ(
      made_of({*c.clients[0], *c.clients[1], *c.clients[0]}, kPath),
      "lock /lock: a client is given twice; give one client for each ensemble [invalid_option]");
  EXPECT_EQ(made_of(c.all(), kPath, {.ensemble_timeout = 0ms}),
            "lock /lock: the ensemble timeout is not positive [invalid_option]");
  EXPECT_EQ(made_of(c.all(), kPath, {.max_hold = 0ms}),
            "lock /lock: the maximum hold time must be positive, not 0 ms [invalid_option]");
  EXPECT_EQ(made_of(c.all(), "lock"),
            "lock lock: the path does not begin with a slash [invalid_path]");
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
  QuorumHold hold = c->acquire({.deadline = kTestTimeout});
  EXPECT_EQ(taken(hold), "xx-");
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(reaches_nodes({1, 1, 1}));  // the attempt at the last one left no znode
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

}  // namespace
}  // namespace zklock::testing
