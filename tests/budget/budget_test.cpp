// SPDX-License-Identifier: Apache-2.0
// The cost of an uncontended lock() and unlock() of a ReentrantMutex that is used again and again:
// stack frames, mutex acquisitions, allocations and requests. meter.h says what is counted.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "budget/meter.h"
#include "budget/stack.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

const std::string kPath = "/lock";

struct Budget {
  std::string requests;
  int mutexes = 0;
  int allocations = 0;
  std::size_t lock_frames = 0;    ///< down to zoo_acreate2
  std::size_t unlock_frames = 0;  ///< down to zoo_adelete or zoo_amulti
};

class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() : chroot_(SharedServer::hosts()), raw_(chroot_.hosts()), client_(options()) {}

  ClientOptions options() const {
    ClientOptions options;
    options.hosts = chroot_.hosts();
    options.session_timeout = 30s;  // a tick, which is counted too, comes every 1.5 s
    options.connection_timeout = 60s;
    options.application = "budget";
    return options;
  }

  void SetUp() override {
    ASSERT_TRUE(client_.wait_until_connected(60s));
    mutex_.emplace(client_, kPath);
    for (int i = 0; i < 3; ++i) cycle({}, false);
  }

  /// Returns the counts of a lock() and an unlock(). `held`: the time between them.
  Meter::Counts cycle(std::chrono::milliseconds held, bool records) {
    if (is_shared_) use_path_as_another_client();
    Meter::start(records);
    mutex_->lock();
    if (held > 0ms) std::this_thread::sleep_for(held);
    mutex_->unlock();
    return Meter::stop();
  }

  /// Makes the next sequence number one that the client cannot expect: see SequenceHint.
  void use_path_as_another_client() {
    const auto made = raw_.create(kPath + "/another-", {}, ZOO_SEQUENCE);
    if (made.rc == ZOK) raw_.delete_node(made.path);  // else the path does not exist yet
  }

  /// Checks the median of several cycles with the expected requests. Other cycles do not count: a
  /// heartbeat came, or the thread was paused, so that the hold was longer or shorter.
  void check(std::chrono::milliseconds held, const Budget& budget) {
    constexpr std::size_t kCycles = 15;
    std::vector<Meter::Counts> all;
    std::string other;
    for (std::size_t i = 0; i < 20 * kCycles && all.size() < kCycles; ++i) {
      Meter::Counts counts = cycle(held, false);
      if (counts.request_names() == budget.requests) {
        all.push_back(std::move(counts));
      } else {
        other = counts.request_names();
      }
    }
    ASSERT_EQ(all.size(), kCycles) << other;
    const auto median = [&all](auto member) {
      std::ranges::nth_element(all, all.begin() + kCycles / 2, {}, member);
      return all[kCycles / 2].*member;
    };
    const int mutexes = median(&Meter::Counts::mutexes);
    const int allocations = median(&Meter::Counts::allocations);
    const auto& some = all[kCycles / 2];
    const auto* const created = some.find("zoo_acreate2");
    const auto* const deleted = some.find("zoo_adelete", "zoo_amulti");
    ASSERT_TRUE(created != nullptr && deleted != nullptr);
    const auto frames = zklock_frames({created->stack, deleted->stack});
    const auto& down = frames[0];
    const auto& back = frames[1];
    std::cout << "requests: " << some.request_names() << "\nmutexes: " << mutexes << ", at most "
              << budget.mutexes << "\nallocations: " << allocations << ", at most "
              << budget.allocations << "\nframes of lock(): " << down.size() << ", at most "
              << budget.lock_frames << "\nframes of unlock(): " << back.size() << ", at most "
              << budget.unlock_frames << "\n";
    EXPECT_LE(down.size(), budget.lock_frames) << numbered(down);
    EXPECT_LE(back.size(), budget.unlock_frames) << numbered(back);
    const bool too_many = mutexes > budget.mutexes || allocations > budget.allocations;
    const Meter::Counts places = too_many ? cycle(held, true) : Meter::Counts();
    EXPECT_LE(mutexes, budget.mutexes) << places_of(places.mutex_stacks);
    EXPECT_LE(allocations, budget.allocations) << places_of(places.allocation_stacks);
  }

  /// Returns the innermost functions of zklock on each stack.
  static std::string places_of(const std::vector<Meter::Stack>& stacks) {
    constexpr std::size_t kInnermost = 4;
    std::vector<std::string> places;
    for (const auto& frames : zklock_frames(stacks)) {
      std::string place;
      for (std::size_t i = 0; i < std::min(kInnermost, frames.size()); ++i) {
        place += (i == 0 ? "" : "\n     in ") + frames[frames.size() - 1 - i];
      }
      places.push_back(place);
    }
    return numbered(places);
  }

  const TestChroot chroot_;
  RawClient raw_;
  Client client_;
  std::optional<ReentrantMutex> mutex_;
  bool is_shared_ = true;
};

// The release of a hold that is longer than its acquire is announced.
TEST_F(BudgetTest, LongHold_IsWithinBudget) {
  check(10ms, {.requests = "zoo_acreate2 zoo_aexists zoo_amulti",
               .mutexes = 13,
               .allocations = 22,
               .lock_frames = 14,
               .unlock_frames = 10});
}

// Probably no contender waits, so the release is not announced.
TEST_F(BudgetTest, ShortHold_IsWithinBudget) {
  check(0ms, {.requests = "zoo_acreate2 zoo_aexists zoo_adelete",
              .mutexes = 13,
              .allocations = 22,
              .lock_frames = 14,
              .unlock_frames = 10});
}

// The path is used by this client alone: the sequence number replaces the count of the children.
TEST_F(BudgetTest, UnsharedPath_IsWithinBudget) {
  is_shared_ = false;
  check(0ms, {.requests = "zoo_acreate2 zoo_adelete",
              .mutexes = 12,
              .allocations = 21,
              .lock_frames = 14,
              .unlock_frames = 10});
}

}  // namespace
}  // namespace zklock::testing
