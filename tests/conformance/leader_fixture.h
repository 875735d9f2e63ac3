// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {

// One call of a listener: the kind of event and the token of the leadership.
struct LeadershipEvent {
  bool gained;
  FencingToken token;
  friend bool operator==(const LeadershipEvent&, const LeadershipEvent&) = default;
};

// Records the calls of its listener. REQUIRES: outlives the latch that it listens to.
class LeadershipLog {
 public:
  Subscription listen_to(LeaderLatch& latch) {
    return latch.add_listener(
        [this](const Leadership& l) {
          events_.add({true, l.token()});
        },
        [this](const Leadership& l) {
          events_.add({false, l.token()});
        });
  }
  std::vector<LeadershipEvent> all() const { return events_.all(); }
  bool reaches(std::size_t count) const { return events_.reaches(count); }
  std::size_t size() const { return events_.size(); }

  // Returns whether `gained` and `lost` alternate. Both of a pair name one leadership, and each new
  // leadership has a higher token.
  bool is_in_order() const {
    const auto events = all();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].gained != (i % 2 == 0)) return false;
      if (i % 2 == 1 && events[i].token != events[i - 1].token) return false;
      if (i % 2 == 0 && i > 0 && events[i].token <= events[i - 1].token) return false;
    }
    return true;
  }

 private:
  Chronicle<LeadershipEvent> events_;
};

// Base: LockTest or OwnServerTest.
template <class Base>
class LeaderTest : public Base {
 protected:
  using Base::Base;

  std::unique_ptr<LeaderLatch> start_latch(Client& client, LatchOptions latch_options = {}) const {
    auto latch = std::make_unique<LeaderLatch>(client, kPath, std::move(latch_options));
    latch->start();
    return latch;
  }
  std::unique_ptr<LeaderLatch> leading_latch(Client& client) const {
    auto latch = start_latch(client);
    if (!latch->wait_until_leader(kTestTimeout)) throw std::runtime_error("it does not lead");
    return latch;
  }
  void expire(const Client& client) const {
    expire_session(this->chroot_.hosts(), client.session_id());
  }
  // Waits until the latch leads with a higher token than `token`.
  static bool leads_after(const LeaderLatch& latch, FencingToken token) {
    return eventually([&] { return latch.has_leadership() && latch.token() > token; },
                      kTestTimeout);
  }
  // Returns whether the path has no znode and, on a server of this kit, no watch.
  bool nothing_is_left() {
    if (!this->becomes_empty()) return false;
    const TestServer* const server = SharedServer::server();
    if (server == nullptr) return true;
    return eventually([&] { return !this->watched(*server, kPath); }, kTestTimeout);
  }
};

}  // namespace zklock::testing
