// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_options.h"

#include <chrono>
#include <concepts>
#include <string>

#include <gtest/gtest.h>

#include "zklock/lock_concepts.h"
#include "zklock/zklock.h"

namespace zklock {
namespace {

using namespace std::chrono_literals;

template <class Lock, class Options>
concept TakesOptions = std::constructible_from<Lock, Client&, std::string, Options>;
template <class Options>
concept SemaphoreTakesOptions =
    std::constructible_from<Semaphore, Client&, std::string, int, Options>;
template <class Options>
concept MultiTakesOptions =
    std::constructible_from<MultiMutex, Client&, std::vector<std::string>, Options>;

// A class takes no options with members that it does not have. short_calls.cpp has those it takes.
static_assert(TakesOptions<Mutex, CohortOptions> && MultiTakesOptions<ExclusiveOptions> &&
              SemaphoreTakesOptions<LockOptions>);
static_assert(!TakesOptions<SharedMutex, CohortOptions> && !MultiTakesOptions<CohortOptions>);
static_assert(!SemaphoreTakesOptions<ExclusiveOptions> && !SemaphoreTakesOptions<CohortOptions>);
static_assert(!TakesOptions<PriorityMutex, CohortOptions>);
template <class Lock>
concept TakesHandoffs = requires(Client& client) {
  Lock(client, "/lock", {.max_local_handoffs = 8});
};
static_assert(TakesHandoffs<Mutex> && !TakesHandoffs<SharedMutex> && !TakesHandoffs<PriorityMutex>);

template <class Options>
void expect_common_members(const Options& options) {
  EXPECT_EQ(options.label, "orders");
  EXPECT_EQ(options.on_node_lost, OnNodeLost::fail);
  EXPECT_TRUE(options.listener);
  EXPECT_TRUE(options.executor);
  EXPECT_EQ(options.max_hold, 3s);
  EXPECT_EQ(options.expiry_notice, 2s);
}

TEST(LockOptions, ConvertedToLargerType_KeepsEachMember) {
  const LockOptions common{.label = "orders",
                           .on_node_lost = OnNodeLost::fail,
                           .listener = [](const LockEvent&) {},
                           .executor = [](const std::function<void()>&) {},
                           .max_hold = 3s,
                           .expiry_notice = 2s};
  ExclusiveOptions exclusive = common;
  expect_common_members(exclusive);
  EXPECT_EQ(exclusive.lock_delay, 0s);
  const CohortOptions cohort = common;
  expect_common_members(cohort);
  EXPECT_EQ(cohort.max_local_handoffs, 1);

  const PriorityOptions priority = common;
  expect_common_members(priority);
  EXPECT_EQ(priority.weight, 5);
  EXPECT_EQ(priority.ageing, 100);
  const QuorumOptions quorum = common;
  expect_common_members(quorum);
  EXPECT_EQ(quorum.ensemble_timeout, 2s);

  exclusive.lock_delay = 5s;
  const CohortOptions delayed = exclusive;
  expect_common_members(delayed);
  EXPECT_EQ(delayed.lock_delay, 5s);
  EXPECT_EQ(PriorityOptions(exclusive).lock_delay, 5s);
  EXPECT_EQ(QuorumOptions(exclusive).lock_delay, 5s);
}

// ---- the concepts of lock_concepts.h --------------------------------------------------------------

static_assert(AcquiringLock<ReentrantMutex> && AcquiringLock<Mutex> && AcquiringLock<SharedMutex>);
static_assert(AcquiringLock<PriorityMutex> && AcquiringLock<Semaphore>);
static_assert(AcquiringLock<MultiMutex, MultiHold> && AcquiringLock<QuorumMutex, QuorumHold>);
static_assert(!AcquiringLock<MultiMutex>);

static_assert(TimedLock<Mutex> && !ReentrantLock<Mutex> && !TimedLock<Semaphore>);
static_assert(ReentrantLock<ReentrantMutex> && ReentrantLock<SharedMutex>);
static_assert(ReentrantLock<PriorityMutex> && ReentrantLock<MultiMutex>);
static_assert(ReentrantLock<QuorumMutex>);

static_assert(QueuedLock<ReentrantMutex> && QueuedLock<Mutex> && QueuedLock<SharedMutex>);
static_assert(QueuedLock<PriorityMutex> && QueuedLock<Semaphore>);
static_assert(!QueuedLock<MultiMutex> && !QueuedLock<QuorumMutex>);

}  // namespace
}  // namespace zklock
