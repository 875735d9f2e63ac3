// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/blocking_call.h"

#include <chrono>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/fact.h"
#include "tests/unit/thread_facts.h"
#include "zklock/engine/callback/completion.h"

namespace zklock::detail {
namespace {

using namespace std::chrono_literals;
using testing::Fact;
using testing::thread_state;

/// Runs `act` when the waiting thread is asleep.
std::jthread when_asleep(Fact<pid_t> waiting, std::function<void()> act) {
  return std::jthread([waiting, act = std::move(act)] {
    const pid_t waits = waiting.get();
    while (thread_state(waits) != 'S') std::this_thread::yield();
    act();
  });
}

TEST(BlockingCall, InterruptedThread_CanStillWaitForTheResult) {
  BlockingCall<int> call;
  Fact<pid_t> waiting;
  Fact<pid_t> waiting_again;
  boost::thread waits([&call, waiting, waiting_again] {
    waiting.is(::gettid());
    EXPECT_THROW(call.wait(), boost::thread_interrupted);
    waiting_again.is(::gettid());
    EXPECT_EQ(call.wait_without_interruption(), 7);
  });
  const auto interrupts = when_asleep(waiting, [&waits] { waits.interrupt(); });
  const auto other = when_asleep(waiting_again, [&call] { call.set(7); });
  waits.join();
}

TEST(BlockingCall, TimedWait_IsAnInterruptionPoint) {
  BlockingCall<int> call;
  Fact<pid_t> waiting;
  boost::thread waits([&call, waiting] {
    waiting.is(::gettid());
    EXPECT_THROW(call.wait_until(24h), boost::thread_interrupted);
  });
  when_asleep(waiting, [&waits] { waits.interrupt(); }).join();  // before the other join()
  waits.join();
}

TEST(BlockingCall, DeadlineFirst_ResultArrivesLater) {
  BlockingCall<int> call;
  EXPECT_FALSE(call.wait_until(1ms));
  EXPECT_FALSE(call.wait_until(Deadline::passed()));
  call.set(7);
  EXPECT_EQ(call.wait_until(Deadline::passed()), 7);
}

TEST(BlockingCall, CallPastItsDeadline_IsExpired) {
  struct Call {
    std::function<void(int)> done;
    static Deadline deadline() { return 1ms; }
    void expire() const { done(7); }
    void cancel() {}
  };
  BlockingCall<int> end;
  Call call{[&end](int result) { end.set(result); }};
  EXPECT_EQ(wait_or_cancel(end, call, [](int) {}), 7);
}

TEST(BlockingCall, Exception_CancelsTheCallAndWaitsForItsEnd) {
  struct Call {
    std::jthread ends;
    BlockingCall<int>* end;
    static Deadline deadline() { return Deadline::never(); }
    void expire() {}
    void cancel() {
      ends = std::jthread([to = end] { to->set(7); });
    }
  };
  BlockingCall<int> end;
  Call call{{}, &end};
  int given_back = 0;
  EXPECT_THROW(wait_or_cancel(
                   end, call, [&](int late) { given_back = late; }, [] { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(given_back, 7);
}

}  // namespace
}  // namespace zklock::detail
