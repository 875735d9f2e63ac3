// SPDX-License-Identifier: Apache-2.0
// Every allocation of a call fails once. A call that throws leaves its object as it was before.
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
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
using detail::CompositeRequest;
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
    const bool failed = ran_out(memory, threw, [&] { candidate->contend(); });
    EXPECT_TRUE(failed || !threw);
    EXPECT_TRUE(threw || !candidate->contend()) << "it contends already";
    run();
    EXPECT_EQ(candidate->leads(), !threw);
    if (threw) {
      EXPECT_TRUE(candidate->contend()) << "a later call begins";
    }
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
    candidate->contend();
    run();
    bool threw = false;
    const bool failed = ran_out(memory, threw, [&] { candidate->contend(); });
    EXPECT_EQ(candidate->error().has_value(), threw);
    candidate->close();
    run();
    return failed && !HasFailure();
  });
  EXPECT_GT(failures, 5U);
  expect_rest();
}

// A composite of one path of each of two clients.
class ScarceMemoryOfComposite : public ScarceMemoryOfRecipes {
 protected:
  enum class Before { nothing, holds_of_parts, call_of_composite };
  struct Case {
    std::size_t needed;
    std::optional<std::chrono::milliseconds> part_timeout;  ///< set: it is a quorum
    core::CountKind kind;
    Before before;  ///< how the owner already holds the parts
    std::optional<std::chrono::milliseconds> longest = {};
  };
  /// The end of a call.
  struct End {
    int ends = 0;
    CompositeOutcome outcome;
  };

  void TearDown() override {
    composite_->close();
    run();
    composite_.reset();
    expect_rest();
  }
  static std::unique_ptr<detail::PathPartLock> part(detail::ClientCore& core, std::size_t i) {
    return std::make_unique<detail::PathPartLock>(
        core, core::LockPath("/part-" + std::to_string(i)), core::QueueRule::mutex(), 0ms,
        detail::LockEventSink(nullptr, i));
  }
  void make_composite(const Composite::Rule& rule) {
    if (composite_) composite_->close();
    std::vector<Composite::Part> parts;
    for (std::size_t i = 0; i < 2; ++i) parts.push_back({part(lock_.core(i), i), i});
    composite_ = std::make_shared<Composite>(std::move(parts), rule);
  }
  static CompositeRequest request(const Owner& owner, core::CountKind kind, End& end) {
    CompositeRequest request{
        .owner = owner, .time_limit = detail::TimeLimit::endless(), .kind = kind};
    request.done = [&end](CompositeOutcome outcome) {
      ++end.ends;
      end.outcome = std::move(outcome);
    };
    return request;
  }
  /// Takes both parts for `owner`. The result retains the holds.
  End take(const Owner& owner, const Case& c) {
    End end;
    if (c.before == Before::call_of_composite) {
      CompositeCall::start(composite_, request(owner, c.kind, end));
      run();
      EXPECT_TRUE(end.outcome.granted);
    }
    if (c.before == Before::holds_of_parts) {
      for (std::size_t i = 0; i < 2; ++i) {
        composite_->part(i).acquire({.owner = owner,
                                     .time_limit = detail::TimeLimit::endless(),
                                     .done = [this](const detail::AcquireOutcome& outcome) {
                                       holds_.push_back(
                                           outcome.contender->make_hold(core::CountKind::hold));
                                     }});
      }
      run();
      EXPECT_EQ(holds_.size(), 2U);
    }
    return end;
  }
  void release(const Owner& owner, End& end, core::CountKind kind) {
    const bool locked = end.outcome.granted && kind == core::CountKind::lock;
    if (locked) composite_->unlock(owner);
    end.outcome = {};
  }
  void expect_counts(const Owner& owner, int count) {
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(composite_->part(i).count(owner), count) << i;
  }
  void fail_every_allocation(const Case& c);

  std::shared_ptr<Composite> composite_;
  std::vector<Hold> holds_;
};

void ScarceMemoryOfComposite::fail_every_allocation(const Case& c) {
  make_composite({.needed = c.needed, .part_timeout = c.part_timeout});
  const int counts_before = c.before == Before::nothing ? 0 : 1;
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    SCOPED_TRACE("with memory for " + std::to_string(memory));
    const Owner owner = Owner::unique();
    End earlier = take(owner, c);
    End end;
    CompositeRequest call = request(owner, c.kind, end);
    call.limit.longest = c.longest;
    bool threw = false;
    const bool failed =
        ran_out(memory, threw, [&] { CompositeCall::start(composite_, std::move(call)); });
    run();
    EXPECT_EQ(end.ends, threw ? 0 : 1);
    EXPECT_EQ(end.outcome.granted, !threw);
    expect_counts(owner, counts_before + (threw ? 0 : 1));
    release(owner, end, c.kind);
    expect_counts(owner, counts_before);
    release(owner, earlier, c.kind);
    // A quorum records its calls of lock(). No record is left of one that threw.
    if (c.needed == 1) {
      EXPECT_THROW(composite_->unlock(owner), Error);
    }
    holds_.clear();
    run();
    expect_counts(owner, 0);
    EXPECT_EQ(znodes(), 0U);
    return failed && !HasFailure();
  });
  EXPECT_GT(failures, 5U);
}

TEST_F(ScarceMemoryOfComposite, AcquireThatThrows_LeavesNothing) {
  for (const auto kind : {core::CountKind::hold, core::CountKind::lock}) {
    for (const auto before : {Before::nothing, Before::holds_of_parts, Before::call_of_composite}) {
      SCOPED_TRACE(kind == core::CountKind::hold ? "hold" : "lock");
      SCOPED_TRACE(static_cast<int>(before));
      fail_every_allocation({.needed = 2, .part_timeout = {}, .kind = kind, .before = before});
      fail_every_allocation({.needed = 2, .part_timeout = 800ms, .kind = kind, .before = before});
      fail_every_allocation({.needed = 1, .part_timeout = 800ms, .kind = kind, .before = before});
    }
  }
}

// With a maximum hold time, the grant of the whole allocates timers for each part.
TEST_F(ScarceMemoryOfComposite, LimitedAcquireThatThrows_LeavesNothing) {
  for (const auto kind : {core::CountKind::hold, core::CountKind::lock}) {
    fail_every_allocation({.needed = 1,
                           .part_timeout = 800ms,
                           .kind = kind,
                           .before = Before::holds_of_parts,
                           .longest = 10s});
  }
}

TEST_F(ScarceMemoryOfComposite, StoppedBefore_EndsOrThrows) {
  make_composite({.needed = 2});
  std::stop_source stop;
  stop.request_stop();
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    SCOPED_TRACE("with memory for " + std::to_string(memory));
    End end;
    CompositeRequest call = request(Owner::unique(), core::CountKind::hold, end);
    call.stop = stop.get_token();
    bool threw = false;
    const bool failed =
        ran_out(memory, threw, [&] { CompositeCall::start(composite_, std::move(call)); });
    EXPECT_EQ(end.ends, threw ? 0 : 1);
    EXPECT_FALSE(end.outcome.granted);
    run();
    EXPECT_EQ(znodes(), 0U);
    return failed && !HasFailure();
  });
  EXPECT_GT(failures, 2U);
}

// Delivers the outcome only when deliver() is called. `after_request` runs in each request.
class LatePart final : public detail::PathPartLock {
 public:
  LatePart(detail::ClientCore& core, std::function<void()>& after_request)
      : PathPartLock(core, core::LockPath("/part-0"), core::QueueRule::mutex(), 0ms,
                     detail::LockEventSink(nullptr, 0)),
        after_request_(after_request) {}

  std::shared_ptr<detail::PendingAcquire> acquire(Request request) override {
    done_ = std::exchange(request.done, [this](const auto& outcome) { outcome_ = outcome; });
    auto call = PathPartLock::acquire(std::move(request));
    after_request_();
    return call;
  }
  void deliver() { std::exchange(done_, nullptr)(std::exchange(outcome_, {})); }

 private:
  std::function<void()>& after_request_;
  std::function<void(detail::AcquireOutcome)> done_;
  detail::AcquireOutcome outcome_;
};

// The part is granted, but its outcome is delivered only after start() has thrown.
TEST_F(ScarceMemoryOfComposite, GrantAfterThrow_IsReleased) {
  const Owner owner = Owner::unique();
  std::function<void()> after_request = [] {};
  auto late = std::make_unique<LatePart>(lock_.core(0), after_request);
  LatePart& part = *late;
  std::vector<Composite::Part> parts;
  parts.push_back({std::move(late), 0});
  composite_ = std::make_shared<Composite>(std::move(parts), Composite::Rule{});
  End end;
  CompositeCall::start(composite_, request(owner, core::CountKind::hold, end));
  run();
  part.deliver();
  ASSERT_TRUE(end.outcome.granted);

  End second;
  CompositeRequest call = request(owner, core::CountKind::hold, second);
  std::optional<testing::ScarceMemory> scarce;
  after_request = [&] {
    composite_->close();  // an event that fails
    scarce.emplace(0);
  };
  EXPECT_THROW(CompositeCall::start(composite_, std::move(call)), std::bad_alloc);
  scarce.reset();
  EXPECT_EQ(part.count(owner), 2);
  part.deliver();
  EXPECT_EQ(second.ends, 0);
  EXPECT_EQ(part.count(owner), 1);
  end.outcome = {};
}

}  // namespace
}  // namespace zklock::model
