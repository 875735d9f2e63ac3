// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"

namespace zklock::testing {

using Value = std::optional<std::string>;

// The state that a listener received, reduced.
struct ReportedState {
  FencingToken leader;  // 0: no leader
  Value value;
  friend bool operator==(const ReportedState&, const ReportedState&) = default;
};

inline void PrintTo(const ReportedState& reported, std::ostream* out) {
  *out << reported.leader.zxid << ' ' << reported.value.value_or("(none)");
}

inline ReportedState reported(const ElectionState& state) {
  return {state.leader ? state.leader->token : FencingToken{}, state.value};
}

// Records the states that its listener receives. REQUIRES: outlives the observer.
class ElectionStateLog {
 public:
  ElectionObserver::Listener listener() {
    return [this](const ElectionState& state) { states_.add(reported(state)); };
  }
  Subscription listen_to(ElectionObserver& observer) { return observer.add_listener(listener()); }
  bool reaches(const ReportedState& last) const {
    return eventually([&] { return states_.size() > 0 && states_.all().back() == last; },
                      kTestTimeout);
  }
  std::vector<ReportedState> all() const { return states_.all(); }
  std::size_t size() const { return states_.size(); }

 private:
  Chronicle<ReportedState> states_;
};

template <class Base>
class ObserverFixture : public LeaderTest<Base> {
 protected:
  // Waits until the latch leads with a higher token than `before`.
  Leadership next_leadership(const LeaderLatch& latch, FencingToken before) const {
    EXPECT_TRUE(this->leads_after(latch, before));
    return latch.leadership();
  }
  // Returns the path of the leader's value, as the format's documentation defines it.
  static std::string proclaimed_node(const Leadership& leadership) {
    std::string node = leadership.node();
    return node.replace(node.rfind("lock-"), 5, "proclaimed-");
  }
};

class ElectionObserverTest : public ObserverFixture<LockTest> {
 protected:
  ReportedState state() const { return reported(observer_.state(kTestTimeout)); }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  const std::unique_ptr<Client> observers_client_ = connect();
  ElectionObserver observer_{*observers_client_, kPath};
};

class ElectionObserverFaults : public ObserverFixture<OwnServerTest> {};

}  // namespace zklock::testing
