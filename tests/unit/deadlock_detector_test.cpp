// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/deadlock_detector.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

// A path whose holders and waiting contenders are set by the test. The holders are readers if any
// contender waits to read: then only the writers that wait ahead block it.
class FakePath final : public WaitedPath {
 public:
  explicit FakePath(std::string name) : name_(std::move(name)) {}

  const std::string& waited_path() const noexcept override { return name_; }
  BlockedContender blockers_of(const Owner& key) override {
    ++readings_;
    BlockedContender blocked;
    const auto waiter = waiting_.find(key);
    if (waiter != waiting_.end()) {
      blocked.contender = waiter->second.get();
      blocked.has_node = !without_node_.contains(key);
      blocked.blockers = readers_.contains(key) ? writers_ahead_ : holders_;
    }
    return blocked;
  }

  void hold(const Owner& owner, bool is_thread_bound = true) {
    holders_.push_back({owner, &holders_, is_thread_bound, false});
  }
  void wait(const Owner& owner) { waiting_[owner] = std::make_unique<int>(); }
  void wait_to_read(const Owner& owner) { readers_.insert(owner); }
  // `writer`, which waits, is ahead of the readers that wait.
  void put_ahead(const Owner& writer) {
    writers_ahead_.push_back({writer, waiting_.at(writer).get(), true, true});
  }
  void set_has_node(const Owner& owner, bool has_node) {
    if (has_node) {
      without_node_.erase(owner);
    } else {
      without_node_.insert(owner);
    }
  }
  void grant(const Owner& owner) { waiting_.erase(owner); }
  std::size_t readings() const { return readings_; }

 private:
  const std::string name_;
  std::vector<BlockedContender::Blocker> holders_;
  std::map<Owner, std::unique_ptr<int>> waiting_;  // the address identifies the contender
  std::set<Owner> readers_;
  std::set<Owner> without_node_;
  std::vector<BlockedContender::Blocker> writers_ahead_;
  std::size_t readings_ = 0;
};

// A wait that is registered while it exists.
class Wait {
 public:
  Wait(DeadlockDetector& detector, BlockedCall call)
      : detector_(detector), key_(detector.add(std::move(call))) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() { detector_.remove(key_); }
  std::optional<Deadlock> find() const { return detector_.find(key_); }

 private:
  DeadlockDetector& detector_;
  const DeadlockDetector::WaitKey key_;
};

class DeadlockDetectorTest : public ::testing::Test {
 protected:
  // Makes `owner` wait at the path, and registers that.
  std::unique_ptr<Wait> wait(const Owner& owner, const std::shared_ptr<FakePath>& path,
                             bool is_thread_bound = true) {
    path->wait(owner);
    return std::make_unique<Wait>(detector_, BlockedCall{owner, owner, path, is_thread_bound});
  }

  // Returns the begin of a clause. All waits are registered by this thread.
  static std::string thread_of(const Owner& owner) {
    return std::string("the thread \"") + name_of_this_thread().data() + "\" (owner " +
           owner.to_string() + ") ";
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
  EXPECT_TRUE(deadlock->is_settled);
  EXPECT_EQ(deadlock->text, thread_of(one_) +
                                "holds it and waits for /b, which this owner holds; acquire both "
                                "in one order, or with a MultiMutex");
  EXPECT_FALSE(first->find()) << "a cycle has one victim";
}

// One reads /a. Two waits to write /a. Three holds /c, and waits to read /a behind two.
TEST_F(DeadlockDetectorTest, ReaderBehindWriter_IsFound) {
  a_->hold(one_);
  c_->hold(three_);
  const auto writer = wait(two_, a_);
  a_->put_ahead(two_);
  const auto reader = wait(three_, a_);
  a_->wait_to_read(three_);
  EXPECT_FALSE(reader->find()) << "the first reader runs";
  const auto first = wait(one_, c_);
  const auto deadlock = first->find();
  ASSERT_TRUE(deadlock);
  EXPECT_TRUE(deadlock->is_certain);
  EXPECT_EQ(deadlock->text, thread_of(three_) + "holds it and waits for /a; " + thread_of(two_) +
                                "is ahead and waits for /a, which this owner holds; acquire them "
                                "all in one order, or with a MultiMutex");
}

TEST_F(DeadlockDetectorTest, WriterIsLast_IsTheVictim) {
  a_->hold(one_);
  c_->hold(three_);
  const auto first = wait(one_, c_);
  const auto reader = wait(three_, a_);
  a_->wait_to_read(three_);
  EXPECT_FALSE(reader->find()) << "it reads, too";
  const auto writer = wait(two_, a_);
  a_->put_ahead(two_);
  const auto deadlock = writer->find();
  ASSERT_TRUE(deadlock);
  EXPECT_TRUE(deadlock->is_certain);
  EXPECT_EQ(deadlock->text, thread_of(one_) + "holds it and waits for /c; " + thread_of(three_) +
                                "holds that and waits for /a, where this owner is ahead; acquire "
                                "them all in one order, or with a MultiMutex");
}

// The writer's thread waits for /b. Its contender at /a is that of an asynchronous call.
TEST_F(DeadlockDetectorTest, WriterAheadByOtherCall_IsOnlyPossible) {
  b_->hold(one_);
  c_->hold(three_);
  a_->wait(two_);
  a_->put_ahead(two_);
  const auto reader = wait(three_, a_);
  a_->wait_to_read(three_);
  const auto writer = wait(two_, b_);
  const auto first = wait(one_, c_);
  const auto deadlock = first->find();
  ASSERT_TRUE(deadlock);
  EXPECT_FALSE(deadlock->is_certain);
}

TEST_F(DeadlockDetectorTest, WaitWithoutNode_IsNotSettled) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  const auto second = wait(two_, a_);
  for (const auto& [path, owner] : {std::pair(b_, one_), std::pair(a_, two_)}) {
    path->set_has_node(owner, false);
    const auto deadlock = second->find();
    ASSERT_TRUE(deadlock);
    EXPECT_FALSE(deadlock->is_settled) << "a refused create may end the wait";
    path->set_has_node(owner, true);
  }
  const auto deadlock = second->find();
  ASSERT_TRUE(deadlock);
  EXPECT_TRUE(deadlock->is_settled);
}

// Another thread may release the hold, or a stop request may end the wait.
TEST_F(DeadlockDetectorTest, CycleWithoutTheThread_IsOnlyPossible) {
  for (const bool is_hold_bound : {false, true}) {
    const auto path = std::make_shared<FakePath>("/d");
    path->hold(one_, is_hold_bound);
    const auto other = std::make_shared<FakePath>("/e");
    other->hold(two_);
    const auto first = wait(one_, other, !is_hold_bound);
    const auto second = wait(two_, path);
    const auto deadlock = second->find();
    ASSERT_TRUE(deadlock);
    EXPECT_FALSE(deadlock->is_certain);
  }
}

TEST_F(DeadlockDetectorTest, CallWasGranted_IsNoCircle) {
  a_->hold(one_);
  b_->hold(two_);
  const auto first = wait(one_, b_);
  b_->grant(one_);
  const auto second = wait(two_, a_);
  EXPECT_FALSE(second->find()) << "the first call is about to return";
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
  std::vector<std::unique_ptr<Wait>> waits;
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

}  // namespace
}  // namespace zklock::detail
