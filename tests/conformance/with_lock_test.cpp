// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class WithLock : public LockTest {};

TEST_F(WithLock, LockFree_RunsFunctionAndReleases) {
  const auto client = connect();
  const auto result = with_lock(*client, kPath, {}, [&](const Hold& hold) {
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_FALSE(is_free());
    return hold.token().zxid;
  });
  EXPECT_EQ(result.outcome, LockOutcome::ran);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.value, result.token.zxid);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(WithLock, FunctionWithoutArgumentOrResult_Runs) {
  const auto client = connect();
  int runs = 0;
  EXPECT_TRUE(with_lock(*client, kPath, {}, [&] { ++runs; }));
  EXPECT_EQ(runs, 1);
  const auto text = with_lock(*client, kPath, {}, [] { return std::string("done"); });
  EXPECT_EQ(text.value, "done");
}

TEST_F(WithLock, LockBusy_ReportsNotRun) {
  const auto client = connect();
  const Hold other = hold_lock(*client, kPath, {.owner = Owner::unique()});
  int runs = 0;
  const auto result =
      with_lock(*client, kPath, {.deadline = Deadline::passed()}, [&] { return ++runs; });
  EXPECT_EQ(result.outcome, LockOutcome::not_run);
  EXPECT_FALSE(result);
  EXPECT_FALSE(result.value);
  EXPECT_EQ(result.token, FencingToken{});
  EXPECT_EQ(runs, 0);
}

TEST_F(WithLock, LockLostMeanwhile_ReportsLost) {
  const auto client = connect();
  const auto result = with_lock(*client, kPath, {}, [&](const Hold& hold) {
    expire_session(chroot_.hosts(), client->session_id());
    EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
    return 7;
  });
  EXPECT_EQ(result.outcome, LockOutcome::lost);
  EXPECT_FALSE(result);
  EXPECT_EQ(result.value, 7);
}

TEST_F(WithLock, FunctionAlone_IsRun) {
  const auto client = connect();
  const auto result = with_lock(*client, kPath, [](const Hold& hold) { return hold.is_valid(); });
  EXPECT_EQ(result.outcome, LockOutcome::ran);
  EXPECT_EQ(result.value, true);
}

TEST_F(WithLock, FunctionThrows_PropagatesAndReleases) {
  const auto client = connect();
  const auto fails = []() -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(static_cast<void>(with_lock(*client, kPath, {}, fails)), std::runtime_error);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(WithLock, NestedCall_SharesTheGrant) {
  const auto client = connect();
  EXPECT_TRUE(with_lock(*client, kPath, {}, [&](const Hold& outer) {
    const auto inner = with_lock(*client, kPath, {}, [] {});
    EXPECT_EQ(inner.token, outer.token());
  }));
}

TEST_F(WithLock, ListenerOfTemporaryMutex_IsRefused) {
  const auto client = connect();
  const LockOptions with_listener{.listener = [](const LockEvent&) {}};
  EXPECT_EQ(error_of([&] { return hold_lock(*client, kPath, {}, with_listener); }),
            Errc::invalid_option);
  EXPECT_EQ(error_of([&] { return hold_lock(*client, kPath, {}, {.max_hold = 1h}); }),
            std::nullopt);
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
