// SPDX-License-Identifier: Apache-2.0
// flush() of every class, on a network on which a reply takes longer than a call waits. A return of
// true implies that the server has no znode of the call.
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class SlowFlush : public SuiteTest {
 protected:
  static constexpr std::chrono::milliseconds kDelay{50};
  static constexpr std::chrono::milliseconds kDeadline{20};

  Client& client_ = environment().connect_slowly(kDelay);
  const std::unique_ptr<SuiteLock> lock_ = make(client_);

  std::string nodes_of_client() {
    std::string names;
    for (std::size_t i = 0; i < environment().ensembles(); ++i) {
      for (const std::string& path : adapter().paths) {
        for (const std::string& name : environment().ensemble(i).nodes(path)) names += " " + name;
      }
    }
    return names;
  }
  void flush() {
    for (Client* const each : environment().clients_of(client_))
      EXPECT_TRUE(each->flush(kTestTimeout));
  }
  // Compares without waiting.
  void expect_nothing_but(const std::string& holders) { EXPECT_EQ(nodes_of_client(), holders); }
};
INSTANTIATE_TEST_SUITE_P(, SlowFlush,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers})),
                         pairing_name);

class SlowWithdrawal : public SlowFlush {
 protected:
  Client& other_ = connect();
  const std::unique_ptr<SuiteLock> others_ = make(other_);
  Grant blocking_ = rival_acquire(*others_);

  void TearDown() override {
    blocking_.release();
    SlowFlush::TearDown();
  }
  // A call at a quorum of slow ensembles may fail before the deadline.
  void expect_no_lock(const std::function<bool()>& call) {
    bool granted = false;
    const auto error = error_of([&] { return granted = call(); });
    EXPECT_FALSE(granted);
    EXPECT_TRUE(!error || (error == Errc::not_connected && !adapter().waits_without_servers));
  }
  // `call` must end before the reply to its create arrives.
  void expect_flushed(const std::function<void()>& call) {
    for (Client* const each : environment().clients_of(other_))
      EXPECT_TRUE(each->flush(kTestTimeout));
    const std::string before = nodes_of_client();
    for (int round = 0; round < 3; ++round) {
      call();
      flush();
      expect_nothing_but(before);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, SlowWithdrawal,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers})),
                         pairing_name);

TEST_P(SlowWithdrawal, AfterTimeout_LeavesNoNode) {
  expect_flushed([&] {
    expect_no_lock([&] {
      return static_cast<bool>(acquire(*lock_, {.deadline = environment().in(kDeadline)}));
    });
  });
}

TEST_P(SlowWithdrawal, AfterTimedLock_LeavesNoNode) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  expect_flushed(
      [&] { expect_no_lock([&] { return lock_->lock_until(environment().in(kDeadline)); }); });
}

TEST_P(SlowWithdrawal, AfterTimeoutOfFuture_LeavesNoNode) {
  expect_flushed([&] {
    auto future = async_acquire(*lock_, {.deadline = environment().in(kDeadline)});
    expect_no_lock([&] { return static_cast<bool>(get(future)); });
  });
}

TEST_P(SlowWithdrawal, AfterStop_LeavesNoNode) {
  expect_flushed([&] {
    std::stop_source stop;
    auto future = async_acquire(*lock_, {.stop = stop.get_token()});
    stop.request_stop();
    EXPECT_FALSE(get(future));
  });
}

TEST_P(SlowWithdrawal, AfterDestruction_LeavesNoNode) {
  expect_flushed([&] {
    auto lock = make(client_);
    auto future = async_acquire(*lock, {});
    lock.reset();
    EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
  });
}

TEST_P(SlowFlush, AfterRelease_LeavesNoNode) {
  auto hold = acquire(*lock_);
  hold.release();
  flush();
  expect_nothing_but("");
}

TEST_P(SlowFlush, AfterEndOfMaxHold_LeavesNoNode) {
  if (!adapter().calls) GTEST_SKIP() << "a leadership has no maximum time";
  const auto lock = make(client_, {.max_hold = 300ms});
  const auto hold = acquire(*lock);
  // The delete begins with the loss callbacks, which may run a moment after state() has changed.
  ASSERT_TRUE(environment().comes_in_time([&] { return hold.loss_token().stop_requested(); }));
  flush();
  expect_nothing_but("");
}

}  // namespace
}  // namespace zklock::testing
