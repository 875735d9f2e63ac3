// SPDX-License-Identifier: Apache-2.0
// The classes that do not lock, beside every lock class: LockObserver, ElectionObserver,
// GuardedTransaction.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

// ---- observers ----------------------------------------------------------------------------------

// The state that a listener received, reduced.
struct Seen {
  FencingToken first;  // token of the first holder; 0: none
  std::size_t waiting = 0;
  std::optional<std::string> value = std::nullopt;
  friend bool operator==(const Seen&, const Seen&) = default;
};

void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.first.zxid << '+' << seen.waiting << ' ' << seen.value.value_or("(none)");
}

Seen seen(const LockState& state) {
  return {state.holders.empty() ? FencingToken{} : state.holders.front().token, state.waiting};
}

Seen seen(const ElectionState& state) {
  return {state.leader ? state.leader->token : FencingToken{}, 0, state.value};
}

// Returns whether the state shows since when a contender has held, as of one that has held for
// seconds.
bool is_dated(const LockState& state) {
  return std::ranges::any_of(state.holders, [](const auto& h) { return h.held_since.has_value(); });
}
bool is_dated(const ElectionState& state) {
  return state.leader && state.leader->held_since;
}

class Observed : public SuiteTest {
 protected:
  // An observer and the states that its listener received.
  template <class Observer>
  struct Watch {
    Watch(SuiteEnvironment& where, Client& client) : environment(where), observer(client, kPath) {}

    // Waits until `last` is the last state received. Returns whether that is so and state() agrees.
    bool reaches(const Seen& last) const {
      return environment.comes_in_time([&] {
        return states.size() > 0 && states.all().back() == last;
      }) && seen(observer.state()) == last;
    }

    SuiteEnvironment& environment;
    Chronicle<Seen> states;
    Observer observer;
    Subscription subscription = observer.add_listener([this](const auto& state) {
      // A slow step, such as a loss at the end of a lease, can make the hold a long one.
      const bool only_dated =
          is_dated(state) && states.size() > 0 && states.all().back() == seen(state);
      if (!only_dated) states.add(seen(state));
    });
  };

  Client& observers_client_ = connect();
};

class Observers : public Observed {
 protected:
  // Two kinds of contenders make the count of waiting contenders uncertain. A contender that passes
  // a gate has two znodes for a moment, or counts as waiting. The first contender at a shared count
  // writes that count before it holds. For both, only the order of the holders is compared.
  void expect_states(const Chronicle<Seen>& states, const std::vector<Seen>& expected) {
    if (adapter().keeps_node && !adapter().seeds_count) {
      EXPECT_EQ(states.all(), expected);
    } else {
      EXPECT_EQ(holders(states.all()), holders(expected));
    }
  }

 private:
  static std::vector<FencingToken> holders(const std::vector<Seen>& states) {
    std::vector<FencingToken> in_order;
    for (const Seen& each : states) {
      const bool another = in_order.empty() || in_order.back() != each.first;
      if (each.first.zxid != 0 && another) in_order.push_back(each.first);
    }
    return in_order;
  }
};
INSTANTIATE_TEST_SUITE_P(, Observers,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Observers, EachChange_IsNotifiedOnce) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  const Watch<LockObserver> queue(environment(), observers_client_);
  const Watch<ElectionObserver> front(environment(), observers_client_);
  EXPECT_TRUE(queue.reaches({}));
  EXPECT_TRUE(queue.observer.state().is_free());
  EXPECT_TRUE(front.reaches({}));

  auto hold = acquire(*lock);
  EXPECT_TRUE(queue.reaches({hold.token()}));
  EXPECT_TRUE(front.reaches({hold.token()}));
  const LockState held = queue.observer.state();
  ASSERT_EQ(held.holders.size(), 1U);
  const Participant& holder = held.holders.front();
  EXPECT_EQ(kPath + "/" + holder.node, hold.node());
  EXPECT_EQ(holder.session_id, client.session_id());
  EXPECT_EQ(holder.application, "conformance");
  EXPECT_TRUE(holder.holds);
  EXPECT_FALSE(holder.mine);
  EXPECT_EQ(front.observer.state().leader, holder);

  auto waiting = rival_async_acquire(*others);
  EXPECT_TRUE(queue.reaches({hold.token(), 1}));
  const FencingToken first = hold.token();
  hold.release();
  auto next = get(waiting);
  EXPECT_TRUE(queue.reaches({next.token()}));
  EXPECT_TRUE(front.reaches({next.token()}));
  const FencingToken second = next.token();
  next.release();
  EXPECT_TRUE(queue.reaches({}));
  EXPECT_TRUE(front.reaches({}));
  expect_states(queue.states, {{}, {first}, {first, 1}, {second}, {}});
  expect_states(front.states, {{}, {first}, {second}, {}});
}

class Leaders : public Observed {};
INSTANTIATE_TEST_SUITE_P(, Leaders,
                         ::testing::ValuesIn(classes_on({EnvironmentKind::servers,
                                                         EnvironmentKind::simulation},
                                                        &LockAdapter::leads)),
                         pairing_name);

TEST_P(Leaders, LeaderLost_ProclamationIsRemoved) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  const Watch<ElectionObserver> watch(environment(), observers_client_);
  EXPECT_TRUE(watch.reaches({}));
  auto dead = acquire(*lock);
  const FencingToken first = dead.token();
  EXPECT_TRUE(watch.reaches({first}));
  dead.proclaim("a");
  EXPECT_TRUE(watch.reaches({first, 0, "a"}));
  dead.proclaim("a");  // no change
  auto waiting = async_acquire(*others);
  EXPECT_TRUE(environment().comes([&] { return lock->participants().size() == 2; }));
  dead.proclaim("b");
  EXPECT_TRUE(watch.reaches({first, 0, "b"}));

  environment().expire(client);
  const auto next = get_in_time(waiting);
  const FencingToken second = next.token();
  EXPECT_TRUE(watch.reaches({second}));
  EXPECT_TRUE(becomes_lost(dead));
  EXPECT_EQ(error_of([&] { dead.proclaim("I am back"); }), Errc::lock_lost);
  dead.release();
  next.proclaim("b");
  EXPECT_TRUE(watch.reaches({second, 0, "b"}));
  const std::vector<Seen> all{{},       {first},         {first, 0, "a"}, {first, 0, "b"},
                              {second}, {second, 0, "b"}};
  EXPECT_EQ(watch.states.all(), all);
}

// ---- long holds ---------------------------------------------------------------------------------

class LongHolds : public Observed {};
INSTANTIATE_TEST_SUITE_P(, LongHolds,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(LongHolds, HeldSince_IsShownUntilTheRelease) {
  const auto lock = make(connect());
  const auto others = make(connect());
  const LockObserver observer(observers_client_, kPath);
  auto hold = acquire(*lock);
  auto waiting = rival_async_acquire(*others);
  ASSERT_EQ(observer.state().holders.size(), 1U);
  EXPECT_FALSE(observer.state().holders.front().held_since);
  environment().pass(SuiteEnvironment::kSessionTimeout);
  const LockState state = observer.state();
  ASSERT_EQ(state.holders.size(), 1U);
  ASSERT_TRUE(state.holders.front().held_since);
  EXPECT_GE(*state.holders.front().held_since, state.holders.front().since);
  hold.release();
  auto next = get(waiting);
  EXPECT_FALSE(observer.state().holders.at(0).held_since);
  next.release();
}

// ---- guarded transactions -----------------------------------------------------------------------

class Guarded : public SuiteTest {
 protected:
  void SetUp() override { environment().create("/there"); }

  // Writes whose effect all_written() and nothing_written() check.
  static GuardedTransaction writes(const Grant& hold) {
    GuardedTransaction transaction = hold.guarded();
    transaction.create("/new").remove("/there");
    return transaction;
  }
  bool all_written() { return environment().exists("/new") && !environment().exists("/there"); }
  bool nothing_written() { return !environment().exists("/new") && environment().exists("/there"); }
  std::optional<Errc> commit(const GuardedTransaction& transaction) {
    auto committed = transaction.async_commit();
    return error_of([&] { get_in_time(committed); });
  }
  // Commits of the lost hold are refused; a commit of the next hold succeeds.
  void expect_refused_but_for_the_next(Grant lost, const GuardedTransaction& stale,
                                       GrantFuture& waiting) {
    EXPECT_TRUE(nothing_written());
    lost.release();
    const auto next = get_in_time(waiting);
    EXPECT_EQ(commit(stale), Errc::lock_lost);
    EXPECT_TRUE(nothing_written());
    EXPECT_EQ(commit(writes(next)), std::nullopt);
    EXPECT_TRUE(all_written());
    EXPECT_EQ(next.state(), HoldState::held);
  }

  Client& client_ = connect();
  const std::unique_ptr<SuiteLock> lock_ = make(client_);
  const std::unique_ptr<SuiteLock> others_ = make(connect());
};
INSTANTIATE_TEST_SUITE_P(, Guarded,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Guarded, Transaction_CommitsWhileHeldNotAfterRelease) {
  auto hold = acquire(*lock_);
  const auto transaction = writes(hold);
  EXPECT_EQ(commit(transaction), std::nullopt);
  EXPECT_TRUE(all_written());
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(commit(transaction), Errc::node_exists);  // the hold is still valid
  auto late = hold.guarded();
  late.remove("/new");
  hold.release();
  EXPECT_EQ(commit(late), Errc::lock_lost);
  EXPECT_TRUE(all_written());
}

// The client may not know of the deletion yet: the server checks.
TEST_P(Guarded, NodeDeleted_TransactionIsRefused) {
  auto hold = acquire(*lock_);
  auto waiting = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  const auto transaction = writes(hold);
  remove_nodes_of(hold);
  EXPECT_EQ(commit(transaction), Errc::lock_lost);
  expect_refused_but_for_the_next(std::move(hold), transaction, waiting);
}

TEST_P(Guarded, SessionExpired_TransactionIsRefused) {
  auto hold = acquire(*lock_);
  auto waiting = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  const auto transaction = writes(hold);
  environment().expire(client_);
  ASSERT_TRUE(becomes_lost(hold));
  // If there are several ensembles, a client may not know yet. It then closes the connection while
  // the commit is in flight.
  const auto refused = commit(transaction);
  const bool unknown = adapter().on_ensembles && refused == Errc::outcome_unknown;
  EXPECT_TRUE(unknown || refused == Errc::lock_lost);
  expect_refused_but_for_the_next(std::move(hold), transaction, waiting);
}

}  // namespace
}  // namespace zklock::testing
