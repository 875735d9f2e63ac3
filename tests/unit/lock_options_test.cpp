// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_options.h"

#include <chrono>
#include <concepts>
#include <string>

#include <gtest/gtest.h>

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

template <class Options>
concept QuorumTakesOptions =
    std::constructible_from<QuorumMutex, QuorumMutex::Clients, std::string, Options>;

// A class takes its own options, and those with fewer members.
static_assert(TakesOptions<ReentrantMutex, LockOptions> && TakesOptions<Mutex, LockOptions>);
static_assert(TakesOptions<ReentrantMutex, ExclusiveOptions> &&
              TakesOptions<Mutex, ExclusiveOptions>);
static_assert(TakesOptions<ReentrantMutex, CohortOptions> && TakesOptions<Mutex, CohortOptions>);
static_assert(TakesOptions<SharedMutex, LockOptions> && MultiTakesOptions<LockOptions>);
static_assert(TakesOptions<SharedMutex, ExclusiveOptions> && MultiTakesOptions<ExclusiveOptions>);
static_assert(SemaphoreTakesOptions<LockOptions>);
static_assert(TakesOptions<PriorityMutex, LockOptions> &&
              TakesOptions<PriorityMutex, ExclusiveOptions>);
static_assert(QuorumTakesOptions<LockOptions> && QuorumTakesOptions<ExclusiveOptions>);

// A class takes no options with members that it does not have.
static_assert(!TakesOptions<SharedMutex, CohortOptions> && !MultiTakesOptions<CohortOptions>);
static_assert(!SemaphoreTakesOptions<ExclusiveOptions> && !SemaphoreTakesOptions<CohortOptions>);
static_assert(!TakesOptions<PriorityMutex, CohortOptions>);
template <class Lock>
concept TakesHandoffs = requires(Client& client) {
  Lock(client, "/lock", {.max_local_handoffs = 8});
};
template <class Lock>
concept TakesDelay = requires(Client& client) {
  Lock(client, "/lock", {.lock_delay = 5s});
};
template <class Lock>
concept TakesLabel = requires(Client& client) {
  Lock(client, "/lock", {.label = "orders"});
};
static_assert(TakesLabel<ReentrantMutex> && TakesLabel<Mutex> && TakesLabel<SharedMutex> &&
              TakesLabel<PriorityMutex> && TakesLabel<LeaderLatch>);
static_assert(requires(Client & client) { Semaphore(client, "/lock", 2, {.label = "orders"}); });
static_assert(TakesHandoffs<ReentrantMutex> && TakesHandoffs<Mutex>);
static_assert(!TakesHandoffs<SharedMutex> && !TakesHandoffs<PriorityMutex>);
static_assert(TakesDelay<ReentrantMutex> && TakesDelay<SharedMutex> && TakesDelay<PriorityMutex>);

TEST(LockOptions, DesignatedMembers_AreSet) {
  const CohortOptions options{.max_local_handoffs = 8, .lock_delay = 5s};
  EXPECT_EQ(options.max_local_handoffs, 8);
  EXPECT_EQ(options.lock_delay, 5s);
  EXPECT_EQ(options.keep_idle_for, 0s);
  EXPECT_EQ(options.on_node_lost, OnNodeLost::queue_again);
}

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

}  // namespace
}  // namespace zklock
