// SPDX-License-Identifier: Apache-2.0
// Connection listeners of a client, and the Subscription that owns each.
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class ConnectionListener : public LockTest {
 protected:
  // Ends the session, and returns when the client has a new one. Then all listeners have received
  // `lost`.
  void expire() {
    Chronicle<ConnectionState> received;
    const auto subscription = client_->add_listener([&](ConnectionState s) { received.add(s); });
    expire_session(chroot_.hosts(), client_->session_id());
    ASSERT_TRUE(received.has(ConnectionState::connected));
  }

  const std::unique_ptr<Client> client_ = connect();
  std::atomic<int> calls_{0};
};

TEST_F(ConnectionListener, RemovedDuringItsCall_WaitsForTheCall) {
  std::promise<void> entered;
  std::latch go_on(1);
  std::atomic<bool> left{false};
  std::optional<Subscription> subscription(client_->add_listener([&](ConnectionState) {
    if (++calls_ > 1) return;
    entered.set_value();
    go_on.wait();
    left = true;
  }));
  expire();
  auto has_entered = entered.get_future();
  get(has_entered);
  auto removed = in_thread([&] {
    subscription.reset();
    return left.load();
  });
  EXPECT_FALSE(eventually([&] { return is_ready(removed); }, 200ms));
  go_on.count_down();
  EXPECT_TRUE(get(removed));
  EXPECT_EQ(calls_, 1) << "no call after the removal";
}

TEST_F(ConnectionListener, RemovedByItsOwnCall_IsNotCalledAgain) {
  std::optional<Subscription> subscription;
  std::promise<void> removed;
  subscription.emplace(client_->add_listener([&](ConnectionState) {
    if (++calls_ > 1) return;
    subscription.reset();
    removed.set_value();
  }));
  expire();
  auto has_removed = removed.get_future();
  get(has_removed);
  expire();
  EXPECT_EQ(calls_, 1);
}

TEST_F(ConnectionListener, ReplacedByAssignment_IsNotCalledAgain) {
  Chronicle<ConnectionState> received;
  Subscription subscription = client_->add_listener([&](ConnectionState) { ++calls_; });
  subscription = client_->add_listener([&](ConnectionState s) { received.add(s); });
  Subscription moved = std::move(subscription);
  expire();
  EXPECT_TRUE(received.has(ConnectionState::lost));
  moved.cancel();
  EXPECT_EQ(calls_, 0);
  const auto before = received.size();
  expire();
  EXPECT_EQ(received.size(), before);
}

}  // namespace
}  // namespace zklock::testing
