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
#include "conformance/single_thread.h"

namespace zklock::testing {

using Value = std::optional<std::string>;

// The state that a listener received, reduced.
struct Seen {
  FencingToken leader;  // 0: no leader
  Value value;
  friend bool operator==(const Seen&, const Seen&) = default;
};

inline void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.leader.zxid << ' ' << seen.value.value_or("(none)");
}

inline Seen seen(const ElectionState& state) {
  return {state.leader ? state.leader->token : FencingToken{}, state.value};
}

// Records the states that its listener receives. REQUIRES: outlives the observer.
class Witness {
 public:
  ElectionObserver::Listener listener() {
    return [this](const ElectionState& state) { told_.add(seen(state)); };
  }
  Subscription listen_to(ElectionObserver& observer) { return observer.add_listener(listener()); }
  bool comes_to(const Seen& last) const {
    return eventually([&] { return told_.size() > 0 && told_.all().back() == last; }, kPatience);
  }
  std::vector<Seen> all() const { return told_.all(); }
  std::size_t size() const { return told_.size(); }

 private:
  Chronicle<Seen> told_;
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
  Seen state() const { return seen(observer_.state(kPatience)); }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  const std::unique_ptr<Client> observers_client_ = connect();
  ElectionObserver observer_{*observers_client_, kPath};
};

// ---- servers --------------------------------------------------------------------------------------

class ElectionObserverFaults : public ObserverFixture<OwnServerTest> {};

}  // namespace zklock::testing
