// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/kill_schedule.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/state_table.h"

namespace zklock::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using State = KillSchedule::State;
using Step = KillSchedule::Step;

constexpr Duration kTimeout = seconds(24);  // the lead is one second
constexpr Duration kGrace = seconds(3);
constexpr Instant kStart(seconds(1000));
constexpr Instant kBound = kStart + seconds(16);

KillSchedule guarded() {
  KillSchedule plan(kGrace);
  plan.on_bound(kBound, kTimeout);
  return plan;
}

const char* name_of(State state) {
  switch (state) {
    case State::unbound: return "unbound";
    case State::guarded: return "guarded";
    case State::ending: return "ending";
    case State::killing: return "killing";
  }
  return "";
}

TEST(KillScheduleTable, Header_IsWhatTheCodeDoes) {
  const std::vector<std::pair<std::string, void (*)(KillSchedule&)>> inputs{
      {"on_bound", [](KillSchedule& plan) { plan.on_bound(kBound, kTimeout); }},
      {"on_end_requested", [](KillSchedule& plan) { plan.on_end_requested(kStart); }},
      {"on_kill_requested", [](KillSchedule& plan) { plan.on_kill_requested(kStart); }},
      {"step", [](KillSchedule& plan) { plan.step(kStart); }},
      {"step", [](KillSchedule& plan) { plan.step(kBound - seconds(4)); }},
      {"step", [](KillSchedule& plan) { plan.step(kBound); }},
  };
  core::state_table::Transitions made;
  for (const bool has_bound : {false, true}) {
    for (const auto& [name, input] : inputs) {
      for (const auto& [before_name, before] : inputs) {
        KillSchedule plan(kGrace);
        if (has_bound) plan.on_bound(kBound, kTimeout);
        before(plan);
        const State state = plan.state();
        input(plan);
        if (plan.state() != state) made.insert({name_of(state), name, name_of(plan.state())});
      }
    }
  }
  for (const auto& [name, input] : inputs) {
    KillSchedule plan(kGrace);
    input(plan);
    if (plan.state() != State::unbound) made.insert({"unbound", name, name_of(plan.state())});
  }
  auto table = core::state_table::transitions_of("zklock/cli/core/kill_schedule.h");
  std::erase_if(table, [](const auto& each) { return each.state == each.next; });
  EXPECT_EQ(core::state_table::differences(made, table), "");
}

TEST(KillSchedule, Silence_TermThenKillBeforeTheBound) {
  KillSchedule plan = guarded();
  EXPECT_EQ(plan.next_step_time(), kBound - seconds(4));
  EXPECT_TRUE(plan.may_start(kBound - seconds(4) - Duration(1)));
  EXPECT_FALSE(plan.may_start(kBound - seconds(4)));
  EXPECT_EQ(plan.step(kBound - seconds(4) - Duration(1)), Step::none);
  EXPECT_EQ(plan.step(kBound - seconds(4)), Step::term);
  EXPECT_EQ(plan.step(kBound - seconds(4)), Step::none);
  EXPECT_EQ(plan.next_step_time(), kBound - seconds(1));
  EXPECT_EQ(plan.step(kBound - seconds(1) - Duration(1)), Step::none);
  EXPECT_EQ(plan.step(kBound - seconds(1)), Step::kill);
  EXPECT_EQ(plan.last_step_due(), kBound - seconds(1));
  EXPECT_EQ(plan.step(kBound), Step::kill);
}

TEST(KillSchedule, BoundShrinks_KillMovesEarlier) {
  KillSchedule plan = guarded();
  plan.on_bound(kBound - seconds(8), kTimeout);
  EXPECT_EQ(plan.step(kBound - seconds(12)), Step::term);
  EXPECT_EQ(plan.next_step_time(), kBound - seconds(9));
  plan.on_bound(kBound - seconds(10), kTimeout);
  EXPECT_EQ(plan.step(kBound - seconds(11)), Step::kill);
}

TEST(KillSchedule, BoundGrowsAfterTerm_KillAfterGrace) {
  KillSchedule plan = guarded();
  const Instant term = kBound - seconds(4);
  EXPECT_EQ(plan.step(term), Step::term);
  plan.on_bound(kBound + seconds(60), kTimeout);
  EXPECT_EQ(plan.step(term + kGrace - Duration(1)), Step::none);
  EXPECT_EQ(plan.step(term + kGrace), Step::kill);
}

TEST(KillSchedule, KillDoesNotHelp_IsRepeatedLessOften) {
  KillSchedule plan = guarded();
  plan.on_kill_requested(kStart);
  EXPECT_EQ(plan.last_step_due(), kStart);
  int walks = 0;
  for (Instant now = kStart; now < kStart + hours(1); now = plan.next_step_time()) {
    EXPECT_EQ(plan.step(now), Step::kill);
    EXPECT_LE(plan.next_step_time() - now, milliseconds(250));
    if (++walks == 10) {
      EXPECT_LT(now, kStart + milliseconds(200));
    }
  }
  EXPECT_LT(walks, 4 * 3600 + 100);
}

TEST(KillSchedule, EndRequestedForLater_TermComesThen) {
  KillSchedule plan = guarded();
  plan.on_end_requested(kStart + milliseconds(100));
  EXPECT_EQ(plan.next_step_time(), kStart + milliseconds(100));
  EXPECT_EQ(plan.step(kStart + milliseconds(99)), Step::none);
  EXPECT_EQ(plan.step(kStart + milliseconds(100)), Step::term);
  EXPECT_EQ(plan.next_step_time(), kStart + milliseconds(100) + kGrace);
}

TEST(KillSchedule, EndRequestedForLater_TermByTheBoundIsEarlier) {
  KillSchedule plan = guarded();
  const Instant term = kBound - seconds(4);
  plan.on_end_requested(term + milliseconds(50));
  EXPECT_EQ(plan.step(term), Step::term);
  EXPECT_EQ(plan.step(kBound - seconds(1)), Step::kill);
}

// The guardian acts on the bound that it had at the last look of zklock.
TEST(KillSchedule, BoundExtendedBeforeTerm_IsSeenInTime) {
  const KillSchedule plan = guarded();
  const Instant term = plan.next_step_time();
  for (Duration before = kTimeout / 800; before < kTimeout / 8; before += milliseconds(7)) {
    Instant look = kStart;
    while (look < term - before) {
      const Instant next = plan.next_look(look, kTimeout);
      ASSERT_GT(next, look);
      ASSERT_LE(next - look, kTimeout / 40);
      look = next;
    }
    EXPECT_LT(look, term) << before.count();
  }
}

TEST(KillSchedule, Lead_IsBelowTheProvedMargin) {
  for (Duration timeout = milliseconds(2400); timeout <= hours(1); timeout += timeout / 7) {
    const Duration late = KillSchedule::lead_of(timeout) + timeout / 48;
    EXPECT_GE(late + Duration(2), timeout / 16);
  }
  EXPECT_EQ(KillSchedule::lead_of(seconds(1)), milliseconds(100));
}

// A holder has at least T/3 of its lease when it sends a heartbeat. So each permitted grace leaves
// time for the answer.
TEST(KillSchedule, LongestGrace_NoTermInHealthyHold) {
  KillSchedule plan(kTimeout / 4);
  plan.on_bound(kBound, kTimeout);
  EXPECT_EQ(plan.step(kBound - kTimeout / 3 + kTimeout / 24 - Duration(1)), Step::none);
}

/// A history of random inputs, with the rule in other words.
class History {
 public:
  explicit History(std::uint32_t seed) : random_(seed), plan_(pick(kTimeout / 4)) {}

  void run() {
    for (int i = 0; i < 12 && !has_failed(); ++i) input();
  }

 private:
  static bool has_failed() { return ::testing::Test::HasFailure(); }
  Duration pick(Duration most) {
    grace_ = Duration(std::uniform_int_distribution<Duration::rep>(0, most.count())(random_));
    return grace_;
  }
  void input() {
    switch (std::uniform_int_distribution<int>(0, 9)(random_)) {
      case 0: plan_.on_end_requested(now_); break;
      case 1:
      case 2:
      case 3: {
        const Duration ahead = Duration(
            std::uniform_int_distribution<Duration::rep>(0, Duration(kTimeout).count())(random_));
        bound_ = now_ + ahead;
        plan_.on_bound(*bound_, kTimeout);
        break;
      }
      default: {
        const Duration wait = Duration(std::uniform_int_distribution<Duration::rep>(
            0, Duration(kTimeout / 5).count())(random_));
        now_ += wait;
        step();
      }
    }
    if (plan_.state() == State::killing) return;
    const Instant next = plan_.next_step_time();
    if (bound_) {
      EXPECT_LE(next, *bound_ - kTimeout / 24);
    }
    if (term_) {
      EXPECT_LE(next, *term_ + grace_);
    }
  }
  void step() {
    const Step step = plan_.step(now_);
    const bool is_late = bound_ && now_ >= *bound_ - kTimeout / 24;
    const bool grace_is_over = term_ && now_ >= *term_ + grace_;
    if (is_late || grace_is_over) {
      EXPECT_EQ(step, Step::kill);
    }
    if (step == Step::term) {
      EXPECT_FALSE(term_);
      term_ = now_;
    }
  }

  std::mt19937 random_;
  Duration grace_{};
  KillSchedule plan_;
  Instant now_ = kStart;
  std::optional<Instant> bound_;
  std::optional<Instant> term_;
};

TEST(KillSchedule, RandomInputs_KillNeverAfterBoundMinusLead) {
  for (std::uint32_t seed = 0; seed < 100'000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History(seed).run();
  }
}

}  // namespace
}  // namespace zklock::cli
