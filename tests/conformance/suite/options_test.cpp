// SPDX-License-Identifier: Apache-2.0
// Options of every lock: label, note, max_hold and lock_delay; and request_release().
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/event_recorder.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

// ---- texts for people ---------------------------------------------------------------------------

class Texts : public SuiteTest {
 protected:
  Client& client_ = connect();
  const std::unique_ptr<SuiteLock> others_ = make(connect());
};
INSTANTIATE_TEST_SUITE_P(, Texts,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Texts, LabelAndNote_AreShownToOtherClients) {
  const auto lock = make(client_, {.label = "invoices"});
  auto hold = acquire(*lock, {.note = "job 42"});
  ASSERT_TRUE(reaches_nodes(1));
  auto waiting = rival_async_acquire(*others_, {.note = "job 43"});
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = others_->participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].label, "invoices");
  EXPECT_EQ(all[1].label, "");
  EXPECT_EQ(all[0].note, adapter().calls ? "job 42" : "") << "a leadership has none";
  EXPECT_EQ(all[1].note, adapter().calls ? "job 43" : "");
  EXPECT_FALSE(all[0].thread_bound || all[1].thread_bound);
  hold.release();
  EXPECT_TRUE(get_in_time(waiting));
}

TEST_P(Texts, LockWithoutLimit_IsBoundToItsThread) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  const auto is_bound = [&](SuiteLock& lock, Deadline deadline) {
    EXPECT_TRUE(lock.lock_until(deadline));
    const auto all = others_->participants();
    EXPECT_EQ(all.size(), 1U);
    lock.unlock();
    EXPECT_TRUE(becomes_empty());
    return !all.empty() && all[0].thread_bound;
  };
  const auto lock = make(client_);
  EXPECT_EQ(is_bound(*lock, Deadline::never()), adapter().thread_owns && !adapter().on_ensembles);
  EXPECT_FALSE(is_bound(*lock, 1h));
  const auto limited = make(client_, {.max_hold = 1h});
  EXPECT_FALSE(is_bound(*limited, Deadline::never()));
}

// ---- a maximum hold time ------------------------------------------------------------------------

class MaximumHold : public SuiteTest {
 protected:
  static constexpr std::chrono::milliseconds kLimit{400};

  void SetUp() override {
    if (!adapter().calls) GTEST_SKIP() << "a leadership has none";
  }
  // Checks that the hold ends `limit` from now. On the simulation, checks the exact moment.
  void expect_to_end_after(std::chrono::milliseconds limit, const Grant& hold) {
    if (environment().simulated()) {
      const LossCounter losses(hold);
      environment().pass(limit - 1ns);
      EXPECT_EQ(hold.state(), HoldState::held);
      EXPECT_EQ(losses.count(), 0);
      environment().pass(1ns);
      EXPECT_EQ(hold.state(), HoldState::lost);
    }
    EXPECT_TRUE(becomes_lost(hold));
  }

  Client& client_ = connect();
  const std::unique_ptr<SuiteLock> others_ = make(connect());
};
INSTANTIATE_TEST_SUITE_P(, MaximumHold,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(MaximumHold, HoldNotReleased_EndsAtMaxHold) {
  const auto lock = make(client_, {.max_hold = kLimit});
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  expect_to_end_after(kLimit, hold);
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  auto waiting = rival_async_acquire(*others_);
  const auto next = get_in_time(waiting);
  EXPECT_GT(next.token(), hold.token());
  EXPECT_TRUE(hold);  // the lost hold still has its count
  hold.release();
  EXPECT_EQ(next.state(), HoldState::held);
  EXPECT_EQ(losses.count(), 1);
}

TEST_P(MaximumHold, MaxHoldOfCall_OverridesObjectAndIsRenewed) {
  const auto lock = make(client_, {.max_hold = 1h});
  EXPECT_EQ(error_of([&] { return acquire(*lock, {.max_hold = 0ms}); }), Errc::invalid_option);
  auto refused = async_acquire(*lock, {.max_hold = -1ms});
  EXPECT_EQ(error_of([&] { return get(refused); }), Errc::invalid_option);
  EXPECT_FALSE(environment().exists(kPath));  // no request was sent
  auto hold = acquire(*lock, {.max_hold = 2h});
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.renew(3h));
  EXPECT_TRUE(hold.renew(kLimit));
  expect_to_end_after(kLimit, hold);
  EXPECT_FALSE(hold.renew());
  EXPECT_FALSE(hold.renew(1h));
  EXPECT_EQ(error_of([&] { static_cast<void>(hold.renew(0ms)); }), Errc::invalid_option);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_P(MaximumHold, LongestDurations_HoldIsNotLost) {
  const auto longest = std::chrono::milliseconds::max();
  const auto lock = make(client_, {.max_hold = longest, .expiry_notice = longest});
  auto hold = acquire(*lock);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.renew(longest));
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  EXPECT_FALSE(hold.renew());
  hold = acquire(*lock, {.max_hold = longest});
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_P(MaximumHold, LockNotReleased_EndsAtMaxHold) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  const auto lock = make(client_, {.max_hold = kLimit});
  lock->lock();
  EXPECT_TRUE(environment().comes_in_time([&] { return !lock->is_locked(); }));
  auto waiting = rival_async_acquire(*others_);
  EXPECT_EQ(get_in_time(waiting).state(), HoldState::held);
  lock->unlock();  // no error: it undoes the lost lock()
  EXPECT_EQ(error_of([&] { lock->unlock(); }), Errc::not_owner);
}

// ---- requests to release ------------------------------------------------------------------------

class ReleaseRequest : public SuiteTest {
 protected:
  // Sends the request of an operator to each ensemble.
  std::vector<std::future<bool>> request_all() {
    std::vector<std::future<bool>> requested;
    for (Client* const each : operators_) {
      requested.push_back(in_thread([each] { return request_release(*each, kPath); }));
    }
    return requested;
  }

  EventRecorder recorder_{adapter()};
  Client& client_ = connect();
  const std::vector<Client*> operators_ = environment().clients_of(connect());
  const std::unique_ptr<SuiteLock> lock_ = make(client_, {.listener = recorder_.listener()});
};
INSTANTIATE_TEST_SUITE_P(, ReleaseRequest,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(ReleaseRequest, RequestedHolder_IsNotifiedAndMayRelease) {
  auto hold = acquire(*lock_);
  EXPECT_FALSE(hold.release_request_token().stop_requested());
  auto requested = request_all();
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    EXPECT_TRUE(environment().comes_in_time(
        [&] { return hold.release_request_token(i).stop_requested(); }));
  }
  EXPECT_TRUE(recorder_.exactly({"acquired", "release_requested"}, {"acquired"})) << recorder_;
  EXPECT_EQ(hold.state(), HoldState::held);
  for (const auto& each : requested) EXPECT_FALSE(is_ready(each));
  hold.release();
  for (auto& each : requested) EXPECT_TRUE(get_in_time(each));
  EXPECT_TRUE(
      recorder_.exactly({"acquired", "release_requested", "released"}, {"acquired", "released"}))
      << recorder_;
  EXPECT_TRUE(becomes_empty());
}

TEST_P(ReleaseRequest, ForcedHolder_IsLostBeforeNextGrant) {
  const auto others = make(connect());
  auto hold = acquire(*lock_);
  const LossCounter losses(hold);
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  const std::size_t majority = operators_.size() / 2 + 1;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    auto forced =
        in_thread([&, i] { return request_release(*operators_[i], kPath, {.force = true}); });
    const bool ended = environment().comes_in_time([&] { return is_ready(forced); });
    if (!ended) hold.release();  // or the request never ends
    ASSERT_TRUE(ended);
    EXPECT_TRUE(get(forced));
    const bool lost = i + 1 >= majority;
    EXPECT_EQ(hold.state(), lost ? HoldState::lost : HoldState::held);
    EXPECT_EQ(hold.loss_token().stop_requested(), lost);
  }
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  EXPECT_TRUE(recorder_.exactly({"acquired", "lost"}, {"acquired"})) << recorder_;
  if (!adapter().frees_all_by_loss) hold.release();
  const auto next = get_in_time(waiting);
  EXPECT_GT(next.token(), hold.token());
  hold.release();
  EXPECT_EQ(next.state(), HoldState::held);
  EXPECT_TRUE(recorder_.exactly({"acquired", "lost"}, {"acquired", "released"})) << recorder_;
}

// ---- a delay after a loss -----------------------------------------------------------------------

class LockDelay : public SuiteTest {
 protected:
  static constexpr std::chrono::milliseconds kDelay{600};
  static constexpr std::chrono::milliseconds kForAges{std::chrono::hours(24)};

  bool reaches_contenders(std::ptrdiff_t count) {
    return environment().comes([&] {
      return std::ranges::count_if(environment().nodes(), [](const std::string& name) {
               return !name.starts_with("delay-");
             }) == count;
    });
  }
  // Delays follow each other: each begins when the last has ended.
  void expect_delayed(int delays, const GrantFuture& waiting) {
    for (int i = 0; i < delays; ++i) {
      environment().pass(kDelay - 1ns);
      EXPECT_FALSE(is_ready(waiting));
      environment().pass(1ns);
    }
    EXPECT_TRUE(becomes_ready(waiting));
  }

  Client& client_ = connect();
  Client& other_ = connect();
};
INSTANTIATE_TEST_SUITE_P(, LockDelay,
                         ::testing::ValuesIn(classes_on({EnvironmentKind::servers,
                                                         EnvironmentKind::simulation},
                                                        &LockAdapter::has_delay)),
                         pairing_name);

TEST_P(LockDelay, HoldLost_DelaysNextGrant) {
  const bool leaves_one = adapter().delays > 0;
  const CohortOptions delayed{.lock_delay = leaves_one ? kDelay : kForAges};
  const auto lock = make(client_, delayed);
  const auto others = make(other_);
  auto hold = acquire(*lock);
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_contenders(2));
  const auto before = environment().now();
  environment().expire(client_);
  if (environment().simulated()) expect_delayed(adapter().delays, waiting);
  auto next = get(waiting);
  if (leaves_one) {
    EXPECT_GE(environment().now() - before, adapter().delays * kDelay);
  }
  EXPECT_GT(next.token(), hold.token());
  hold.release();
  next.release();
  EXPECT_TRUE(becomes_empty());  // the delay markers were deleted too
}

TEST_P(LockDelay, HolderReleased_NextIsGrantedWithoutDelay) {
  const auto lock = make(client_, {.lock_delay = kForAges});
  const auto others = make(other_, {.lock_delay = kForAges});
  auto hold = acquire(*lock);
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_contenders(2));
  hold.release();
  auto next = get(waiting);
  EXPECT_EQ(next.state(), HoldState::held);
  next.release();
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(acquire(*lock));
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
