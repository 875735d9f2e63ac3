// SPDX-License-Identifier: Apache-2.0
// Every allocation of a call fails once. A call that throws leaves its object as it was before.
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/scarce_memory.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/composite_call.h"
#include "zklock/recipes/composite/path_part_lock.h"

namespace zklock::model {
namespace {

using detail::Composite;
using detail::CompositeCall;
using detail::CompositeOutcome;
using testing::at_every_allocation;

class ScarceMemoryOfRecipes : public PathLockTest {
 protected:
  /// Calls `call` with this memory. Sets `threw` if it threw std::bad_alloc. Returns whether the
  /// memory ran out.
  template <class Call>
  static bool ran_out(std::size_t memory, bool& threw, Call call) {
    const testing::ScarceMemory scarce(memory);
    try {
      call();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    return scarce.ran_out();
  }
  /// Returns the number of ephemeral znodes of clients 0 and 1.
  std::size_t znodes() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < 2; ++c) all += ensemble().ephemerals(client(c).session()).size();
    return all;
  }
};

TEST_F(ScarceMemoryOfRecipes, WantThatThrows_LeavesCandidateIdle) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    SCOPED_TRACE("with memory for " + std::to_string(memory));
    const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
    bool threw = false;
    const bool failed = ran_out(memory, threw, [&] { candidate->want(); });
    EXPECT_TRUE(failed || !threw);
    EXPECT_EQ(candidate->wants(), !threw);
    run();
    EXPECT_EQ(candidate->leads(), !threw);
    if (threw) EXPECT_TRUE(candidate->want()) << "a later call begins";
    run();
    EXPECT_TRUE(candidate->leads());
    candidate->close();
    run();
    return failed && !HasFailure();
  });
  EXPECT_GT(failures, 5U);
  expect_rest();
}

TEST_F(ScarceMemoryOfRecipes, WantThatThrows_RetainsError) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    SCOPED_TRACE("with memory for " + std::to_string(memory));
    const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
    lock_.world().fail_next(0, OperationKind::create_contender, Status::no_auth);
    candidate->want();
    run();
    bool threw = false;
    const bool failed = ran_out(memory, threw, [&] { candidate->want(); });
    EXPECT_EQ(candidate->error().has_value(), threw);
    candidate->close();
    run();
    return failed && !HasFailure();
  });
  EXPECT_GT(failures, 5U);
  expect_rest();
}

// The locks of two clients, all of which are needed. With `patience` for a part it is a quorum.
TEST_F(ScarceMemoryOfRecipes, CompositeAcquireThatThrows_LeavesNothing) {
  for (const auto patience : {std::optional<std::chrono::milliseconds>(), std::optional(800ms)}) {
    SCOPED_TRACE(patience ? "quorum" : "multi");
    std::vector<Composite::Part> parts;
    for (std::size_t i = 0; i < 2; ++i) {
      parts.push_back({std::make_unique<detail::PathPartLock>(
                           lock_.core(i), core::LockPath("/part-" + std::to_string(i)), 0ms,
                           detail::LockEventSink(nullptr, i)),
                       i});
    }
    const auto composite = std::make_shared<Composite>(
        std::move(parts), Composite::Rule{.needed = 2, .part_timeout = patience});
    const std::size_t failures = at_every_allocation([&](std::size_t memory) {
      SCOPED_TRACE("with memory for " + std::to_string(memory));
      int ends = 0;
      CompositeOutcome end;
      detail::CompositeRequest request{.owner = Owner::unique(),
                                       .time_limit = detail::TimeLimit::none()};
      request.done = [&](CompositeOutcome outcome) {
        ++ends;
        end = std::move(outcome);
      };
      bool threw = false;
      const bool failed =
          ran_out(memory, threw, [&] { CompositeCall::start(composite, std::move(request)); });
      run();
      EXPECT_EQ(ends, threw ? 0 : 1);
      EXPECT_EQ(end.granted, !threw);
      EXPECT_EQ(znodes(), threw ? 0U : 2U);
      end.held.reset();
      run();
      EXPECT_EQ(znodes(), 0U);
      return failed && !HasFailure();
    });
    EXPECT_GT(failures, 5U);
    composite->close();
    run();
  }
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
