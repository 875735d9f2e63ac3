// SPDX-License-Identifier: Apache-2.0
// Hold::blocked_by(): what the empty Hold of a call says about the lock that it did not acquire.
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class HoldBlockedBy : public LockTest {
 protected:
  ClientOptions of_holder() const {
    ClientOptions named = options();
    named.application = "billing";
    return named;
  }
  // Checks that the holder is named.
  static void expect_holder(const LockState& state, const Hold& holder) {
    ASSERT_EQ(state.holders.size(), 1U);
    const Participant& first = state.holders.front();
    EXPECT_EQ(first.token, holder.token());
    EXPECT_EQ(first.owner, holder.owner().to_string());
    EXPECT_EQ(first.application, "billing");
    EXPECT_TRUE(first.holds);
    EXPECT_FALSE(first.mine);
    EXPECT_EQ(state.holding, 1U);
  }

  const std::unique_ptr<Client> other_ = connect(of_holder());
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex others_mutex_{*other_, kPath, {.label = "invoices"}};
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(HoldBlockedBy, TryAcquire_NamesTheHolder) {
  const Hold holder = others_mutex_.acquire({.note = "job 42"});
  const Hold refused = mutex_.acquire({.deadline = Deadline::passed()});
  ASSERT_FALSE(refused);
  const LockState state = refused.blocked_by(kTestTimeout);
  expect_holder(state, holder);
  EXPECT_EQ(state.waiting, 0U);
  EXPECT_EQ(to_string(state).find("held by " + to_string(state.holders[0])), 0U);
  EXPECT_NE(to_string(state).find(" (billing/invoices, \"job 42\")"), std::string::npos)
      << to_string(state);
}

// The answer is the present state, not that of the call.
TEST_F(HoldBlockedBy, HolderChanged_NamesTheNextOne) {
  std::optional<Hold> first = others_mutex_.acquire();
  const Hold refused = mutex_.acquire({.deadline = Deadline::passed()});
  first.reset();
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(refused.blocked_by(kTestTimeout).is_free());
  const Hold second = others_mutex_.acquire();
  expect_holder(refused.blocked_by(kTestTimeout), second);
}

TEST_F(HoldBlockedBy, SeveralHolders_AreCounted) {
  Semaphore others(*other_, "/permits", 3);
  Semaphore permits(*client_, "/permits", 3);
  const Permit first = others.acquire();
  const Permit second = others.acquire();
  const Permit third = others.acquire();
  auto waiting = others.async_acquire();
  ASSERT_TRUE(reaches_nodes(4, "/permits"));
  const Permit refused = permits.try_acquire();
  const LockState state = refused.blocked_by(kTestTimeout);
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.holders[0].token, first.token());
  EXPECT_EQ(state.holding, 3U);
  EXPECT_EQ(state.waiting, 1U);
}

TEST_F(HoldBlockedBy, Curator_IsNamedByItsZnode) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const auto foreign = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                    "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(foreign.rc, ZOK);
  const Hold refused = mutex_.acquire({.deadline = Deadline::passed()});
  const std::string text = to_string(refused.blocked_by(kTestTimeout));
  EXPECT_TRUE(
      text.starts_with("held by znode " + foreign.path.substr(kPath.size() + 1) + " of session 0x"))
      << text;
}

TEST_F(HoldBlockedBy, OtherHolds_AreEmpty) {
  const LockState empty;
  EXPECT_EQ(Hold().blocked_by(), empty);
  Hold granted = mutex_.acquire();
  EXPECT_EQ(granted.blocked_by(), empty);
  granted.release();
  EXPECT_EQ(granted.blocked_by(), empty) << "another contender may hold";
  const Hold holder = others_mutex_.acquire();
  Hold refused = mutex_.acquire({.deadline = Deadline::passed()});
  Hold moved = std::move(refused);
  EXPECT_EQ(refused.blocked_by(), empty);  // NOLINT(bugprone-use-after-move): its state is defined
  expect_holder(moved.blocked_by(kTestTimeout), holder);
  EXPECT_EQ(moved.blocked_by(Deadline::passed()), empty);
  moved = Hold();
  EXPECT_EQ(moved.blocked_by(), empty);
}

TEST_F(HoldBlockedBy, MutexDestroyed_HoldStillReads) {
  const Hold holder = others_mutex_.acquire();
  const Hold refused = ReentrantMutex(*client_, kPath).acquire({.deadline = Deadline::passed()});
  expect_holder(refused.blocked_by(kTestTimeout), holder);
}

TEST_F(HoldBlockedBy, ClientClosed_IsEmpty) {
  const Hold holder = others_mutex_.acquire();
  auto client = connect();
  const Hold refused = ReentrantMutex(*client, kPath).acquire({.deadline = Deadline::passed()});
  client->close();
  EXPECT_EQ(refused.blocked_by(), LockState());
  client.reset();
  EXPECT_EQ(refused.blocked_by(), LockState());
}

TEST_F(HoldBlockedBy, MultiMutex_NamesTheHolderOfThePart) {
  ReentrantMutex second(*other_, "/second");
  const Hold holder = second.acquire();
  MultiMutex both(*client_, {"/first", "/second"});
  const MultiHold refused = both.acquire({.deadline = Deadline::passed()});
  ASSERT_FALSE(refused);
  expect_holder(refused.blocked_by(kTestTimeout), holder);
  auto late = both.async_acquire({.deadline = 50ms});
  expect_holder(get(late).blocked_by(kTestTimeout), holder);
  std::promise<LockState> read;
  both.async_acquire({.deadline = Deadline::passed()},
                     [&](const MultiHold& hold, const std::exception_ptr&) {
                       read.set_value(hold.blocked_by(kTestTimeout));
                     });
  auto state = read.get_future();
  expect_holder(get(state), holder);
  EXPECT_EQ(MultiHold().blocked_by(), LockState());
  EXPECT_EQ(MultiMutex(*client_, {"/first"}).acquire().blocked_by(), LockState());
}

class HoldBlockedByServer : public OwnServerTest {};

TEST_F(HoldBlockedByServer, NoServer_IsEmptyAfterASecond) {
  const auto client = connect();
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  const Hold holder = others_mutex.acquire();
  const Hold refused = ReentrantMutex(*client, kPath).acquire({.deadline = Deadline::passed()});
  server_.kill();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(refused.blocked_by(), LockState());
  EXPECT_GE(std::chrono::steady_clock::now() - before, 900ms);
  start_again();
}

}  // namespace
}  // namespace zklock::testing
