// SPDX-License-Identifier: Apache-2.0
// The sequence counter of a lock path at its end, and below names that were made by hand.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/engine_fixture.h"
#include "zklock/core/node_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();

class SequenceEnd : public EngineTest {
 protected:
  static constexpr std::size_t kCallsPerClient = 3;

  std::size_t nodes_created() {
    std::size_t created = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) {
      created += client(c).requests(Kind::create_contender);
    }
    return created;
  }
  void create(const std::string& name) {
    ASSERT_EQ(ensemble().create(child(name), {}, {}), Status::ok);
  }
  void remove(const std::string& name) { ASSERT_EQ(ensemble().remove(child(name)), Status::ok); }
  static std::string child(const std::string& name) {
    return std::string(LockWorld::path) + "/" + name;
  }
  /// The next number that the server gives.
  std::int32_t counter() { return ensemble().find(LockWorld::path)->counter; }

  /// Every client repeats calls with these timeouts as soon as they end, in a random order of steps,
  /// until `count` calls are granted. Returns how many steps that took.
  std::size_t storm(const std::array<std::optional<Duration>, kCallsPerClient>& timeouts,
                    std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    constexpr std::size_t most_steps = 50'000;
    std::vector<std::size_t> calls(lock_.world().clients() * kCallsPerClient);
    const auto start = [&](std::size_t i) {
      calls[i] = lock_.acquire(i / kCallsPerClient, {.timeout = timeouts.at(i % kCallsPerClient)});
    };
    for (std::size_t i = 0; i < calls.size(); ++i) start(i);
    std::size_t grants = 0;
    std::size_t steps = 0;
    for (; grants < count && steps < most_steps; ++steps) {
      const auto enabled = lock_.world().steps();
      lock_.world().run(enabled[random() % enabled.size()]);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (lock_.call(calls[i]).outcomes == 0) continue;
        if (is_granted(calls[i])) {
          ++grants;
          lock_.release(calls[i]);
        } else {
          EXPECT_FALSE(lock_.call(calls[i]).error) << lock_.call(calls[i]).error->what();
        }
        start(i);
      }
    }
    EXPECT_EQ(grants, count);
    for (const std::size_t call : calls) lock_.cancel(call);
    run();
    for (const std::size_t call : calls) {
      if (is_granted(call)) lock_.release(call);
    }
    return steps;
  }
};

TEST_F(SequenceEnd, CallsAreRepeatedWithoutEnd_PathIsMadeAnew) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    ensemble().set_counter(LockWorld::path,
                           seed % 2 == 0 ? kLast : core::first_unusable_sequence.value);
    reset_counts();
    storm({std::nullopt, 0s, 5ms}, 1, seed);
    // No client creates a node again before the path is made anew. The others' calls are under way.
    const std::size_t under_way = 2 * lock_.world().clients() * kCallsPerClient;
    EXPECT_LE(nodes_created(), under_way + 2 * static_cast<std::size_t>(counter())) << seed;
    EXPECT_LT(counter(), 1'000) << seed;
    expect_rest();
  }
}

TEST_F(SequenceEnd, SingleAttemptsAreRepeatedWithoutEnd_PathIsMadeAnew) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    ensemble().set_counter(LockWorld::path, kLast);
    storm({0s, 0s, 0s}, 10, seed);
    EXPECT_LT(counter(), 10'000) << seed;
    expect_rest();
  }
}

TEST_F(SequenceEnd, HolderIsThere_OthersWaitForItsRelease) {
  const auto holder = granted(0);
  ensemble().set_counter(LockWorld::path, kLast);
  const auto waits = lock_.acquire(1);
  const auto tries = lock_.acquire(2, {.timeout = 0s});
  const auto gives_up = lock_.acquire(2, {.timeout = 10s});
  run_for(20s);
  EXPECT_EQ(lock_.call(holder).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.call(waits).outcomes, 0);
  expect_ended_with_nothing(tries);
  expect_ended_with_nothing(gives_up);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  lock_.release(holder);
  run_for(2s);
  EXPECT_TRUE(is_granted(waits));
  EXPECT_EQ(lock_.call(waits).node, child("lock-0000000000"));
  release(waits);
  expect_rest();
}

TEST_F(SequenceEnd, AnotherChildIsThere_FailsAndNamesIt) {
  create("config");
  ensemble().set_counter(LockWorld::path, kLast);
  for (int attempt = 0; attempt < 2; ++attempt) {
    reset_counts();
    const auto call = lock_.acquire(0);
    run();
    EXPECT_EQ(error(call), Errc::sequence_exhausted);
    EXPECT_NE(std::string(lock_.call(call).error->what()).find("\"config\""), std::string::npos);
    EXPECT_EQ(client(0).requests(Kind::create_contender), attempt == 0 ? 1U : 0U);
  }
  remove("config");
  const auto call = granted(0);
  EXPECT_EQ(lock_.call(call).node, child("lock-0000000000"));
  release(call);
  expect_rest();
}

TEST_F(SequenceEnd, CounterEndedAndAnotherClientMadeThePathAnew_LeavesThatPath) {
  create("config");
  ensemble().set_counter(LockWorld::path, kLast);
  const auto failed = lock_.acquire(0);
  run();
  EXPECT_EQ(error(failed), Errc::sequence_exhausted);
  remove("config");
  release(granted(1));
  const auto czxid = ensemble().find(LockWorld::path)->czxid;
  release(granted(0));
  EXPECT_EQ(ensemble().find(LockWorld::path)->czxid, czxid);
  EXPECT_EQ(counter(), 2);
  expect_rest();
}

// ---- a name made by hand ahead of the counter ---------------------------------------------------

TEST_F(SequenceEnd, NameIsTakenAheadOfTheCounter_ContendersWaitForThatNode) {
  const std::int32_t next = counter();
  const std::string by_hand = core::NodeName::make("lock-", {next}).text;
  ensemble().create(child(by_hand), {}, {});
  ensemble().set_counter(LockWorld::path, next);
  const auto tries = lock_.acquire(2, {.timeout = 0s});
  run();
  expect_ended_with_nothing(tries);
  const auto first = waiting(0);
  const auto second = waiting(1);
  EXPECT_EQ(lock_.nodes().size(), 3U);
  ASSERT_EQ(ensemble().remove(child(by_hand)), Status::ok);
  run();
  EXPECT_TRUE(is_granted(first));
  release(first);
  EXPECT_TRUE(is_granted(second));
  release(second);
  expect_rest();
}

TEST_F(SequenceEnd, NameIsTakenAndTheTransactionIsInDoubt_IsSkippedAllTheSame) {
  for (const bool carried_out : {false, true}) {
    const std::int32_t next = counter();
    const std::string by_hand = core::NodeName::make("lock-", {next}).text;
    ensemble().create(child(by_hand), {}, {});
    ensemble().set_counter(LockWorld::path, next);
    client(0).fail_next(Kind::transaction, Status::unknown, carried_out);
    const auto call = waiting(0);
    ASSERT_EQ(ensemble().remove(child(by_hand)), Status::ok);
    run();
    EXPECT_TRUE(is_granted(call));
    release(call);
    expect_rest();
  }
}

}  // namespace
}  // namespace zklock::model
