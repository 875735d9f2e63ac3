// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/deadlock_detector.h"

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

using Identity = std::shared_ptr<int>;

Identity new_identity() {
  return std::make_shared<int>();
}

// A path whose holders and waiting contenders are set by the test.
class FakePath final : public WaitedPath {
 public:
  explicit FakePath(std::string name) : name_(std::move(name)) {}

  const std::string& waited_path() const noexcept override { return name_; }
  BlockedContender blockers_of(const Owner& key) override {
    const std::lock_guard guard(mutex_);
    ++readings_;
    BlockedContender blocked;
    const auto waiter = waiting_.find(key);
    if (waiter != waiting_.end()) {
      blocked.contender = waiter->second;
      blocked.blockers = holders_;
    }
    if (after_reading_) after_reading_();
    return blocked;
  }

  void hold(const Owner& owner, bool is_thread_bound = true) {
    kept_.push_back(new_identity());
    holders_.push_back({owner, kept_.back(), is_thread_bound});
  }
  void release() { holders_.clear(); }
  void wait(const Owner& owner) { waiting_[owner] = new_identity(); }
  void grant(const Owner& owner) { waiting_.erase(owner); }
  // Called with the mutex locked, after each reading.
  void set_after_reading(std::function<void()> task) { after_reading_ = std::move(task); }
  std::size_t readings() const { return readings_; }

 private:
  const std::string name_;
  std::mutex mutex_;
  std::vector<Identity> kept_;
  std::vector<BlockedContender::Blocker> holders_;
  std::map<Owner, Identity> waiting_;
  std::function<void()> after_reading_;
  std::size_t readings_ = 0;
};

class DeadlockDetectorTest : public ::testing::Test {
 protected:
  // Makes `owner` wait at the path, and registers that.
  std::unique_ptr<DeadlockDetector::Wait> wait(const Owner& owner,
                                               const std::shared_ptr<FakePath>& path,
                                               bool is_thread_bound = true) {
    path->wait(owner);
    return std::make_unique<DeadlockDetector::Wait>(
        detector_, BlockedCall{owner, owner, path, is_thread_bound});
  }

  DeadlockDetector detector_;
  const Owner one_ = Owner::unique();
  const Owner two_ = Owner::unique();
  const Owner three_ = Owner::unique();
  const std::shared_ptr<FakePath> a_ = std::make_shared<FakePath>("/a");
  const std::shared_ptr<FakePath> b_ = std::make_shared<FakePath>("/b");
  const std::shared_ptr<FakePath> c_ = std::make_shared<FakePath>("/c");
};

TEST_F(DeadlockDetectorTest, TwoThreads_LastOneIsTheVictim) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  EXPECT_FALSE(first->find()) << "the other thread runs";
  const auto second = wait(two_, a_);
  const auto deadlock = second->find();
  ASSERT_TRUE(deadlock);
  EXPECT_TRUE(deadlock->is_certain);
  EXPECT_TRUE(deadlock->text.starts_with("the thread \"")) << deadlock->text;
  EXPECT_NE(deadlock->text.find("\" (owner " + one_.to_string() +
                                ") holds it and waits for /b, which this owner holds; acquire both "
                                "in one order, or with a MultiMutex"),
            std::string::npos)
      << deadlock->text;
  EXPECT_FALSE(first->find()) << "a circle has one victim";
}

TEST_F(DeadlockDetectorTest, ThreeThreads_TextHasAllOfThem) {
  a_->hold(one_);
  b_->hold(two_);
  c_->hold(three_);
  const auto first = wait(one_, b_);
  const auto second = wait(two_, c_);
  EXPECT_FALSE(first->find());
  EXPECT_FALSE(second->find());
  const auto third = wait(three_, a_);
  const auto deadlock = third->find();
  ASSERT_TRUE(deadlock);
  EXPECT_TRUE(deadlock->is_certain);
  const auto one = deadlock->text.find(one_.to_string() + ") holds it and waits for /b");
  const auto two = deadlock->text.find(two_.to_string() + ") holds that and waits for /c, which");
  EXPECT_LT(one, two) << deadlock->text;
  EXPECT_NE(two, std::string::npos) << deadlock->text;
}

TEST_F(DeadlockDetectorTest, VictimHasEnded_NoFurtherVictim) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  auto second = wait(two_, a_);
  EXPECT_TRUE(second->find());
  second.reset();
  a_->grant(two_);
  const auto third = wait(three_, a_);
  EXPECT_FALSE(third->find()) << "it waits behind no circle";
}

TEST_F(DeadlockDetectorTest, HoldInCircle_IsOnlyPossible) {
  a_->hold(one_, false);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  const auto second = wait(two_, a_);
  const auto deadlock = second->find();
  ASSERT_TRUE(deadlock);
  EXPECT_FALSE(deadlock->is_certain) << "another thread may release it";
}

TEST_F(DeadlockDetectorTest, UnboundWait_IsOnlyPossible) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_, false);
  const auto second = wait(two_, a_);
  const auto deadlock = second->find();
  ASSERT_TRUE(deadlock);
  EXPECT_FALSE(deadlock->is_certain) << "a stop request may end it";
}

TEST_F(DeadlockDetectorTest, CallWasGranted_IsNoCircle) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  b_->grant(one_);
  const auto second = wait(two_, a_);
  EXPECT_FALSE(second->find()) << "the first call is about to return";
}

// After the first reading, the holder of /b is replaced by another contender of the same owner.
TEST_F(DeadlockDetectorTest, HoldEndsBetweenReadings_IsNoCircle) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  const auto second = wait(two_, a_);
  b_->set_after_reading([this] {
    if (b_->readings() != 1) return;
    b_->release();
    b_->hold(two_);
  });
  EXPECT_FALSE(second->find());
  EXPECT_TRUE(second->find()) << "it exists since then";
}

TEST_F(DeadlockDetectorTest, WaitEndsBetweenReadings_IsNoCircle) {
  a_->hold(one_);
  b_->hold(two_);
  auto first = wait(one_, b_);
  const auto second = wait(two_, a_);
  b_->set_after_reading([&] { first.reset(); });  // after /a and /b were read
  EXPECT_FALSE(second->find());
}

TEST_F(DeadlockDetectorTest, OnePath_IsNotRead) {
  a_->hold(one_);
  const auto second = wait(two_, a_);
  const auto third = wait(three_, a_);
  EXPECT_FALSE(third->find());
  EXPECT_EQ(a_->readings(), 0U) << "many threads contend for one lock";
}

TEST_F(DeadlockDetectorTest, LongChain_SearchIsBounded) {
  constexpr std::size_t kOwners = DeadlockDetector::kMostOwners + 50;
  std::vector<Owner> owners(kOwners + 1, Owner::unique());
  for (Owner& owner : owners) owner = Owner::unique();
  std::vector<std::shared_ptr<FakePath>> paths;
  std::vector<std::unique_ptr<DeadlockDetector::Wait>> waits;
  for (std::size_t i = 0; i < kOwners; ++i) {
    paths.push_back(std::make_shared<FakePath>("/" + std::to_string(i)));
    paths.back()->hold(owners[i]);
    waits.push_back(wait(owners[i + 1], paths.back()));
  }
  EXPECT_FALSE(waits.back()->find());
  std::size_t readings = 0;
  for (const auto& path : paths) readings += path->readings();
  EXPECT_EQ(readings, DeadlockDetector::kMostOwners);
}

// Two threads register and look at the same time.
TEST_F(DeadlockDetectorTest, BothStartAtOnce_OneVictim) {
  constexpr int kRounds = 2'000;
  a_->hold(one_);
  b_->hold(two_);
  a_->wait(two_);
  b_->wait(one_);
  std::barrier<> both(2);
  std::atomic<int> victims{0};
  int wrong = 0;
  const auto run = [&](const Owner& owner, const std::shared_ptr<FakePath>& path, bool counts) {
    for (int i = 0; i < kRounds; ++i) {
      both.arrive_and_wait();
      const DeadlockDetector::Wait wait(detector_, BlockedCall{owner, owner, path, true});
      if (wait.find()) ++victims;
      both.arrive_and_wait();
      if (counts) wrong += victims.exchange(0) == 1 ? 0 : 1;
    }
  };
  std::thread other([&] { run(two_, a_, false); });
  run(one_, b_, true);
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace zklock::detail
