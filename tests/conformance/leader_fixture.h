// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "support/expire_session.h"

namespace zklock::testing {

// What a listener was told.
struct News {
  bool gained;
  FencingToken token;
  friend bool operator==(const News&, const News&) = default;
};

// A listener that writes down what it hears. To be made before what it listens to.
class Heard {
 public:
  Subscription listen_to(LeaderLatch& latch) {
    return latch.add_listener(
        [this](const Leadership& l) {
          news_.add({true, l.token()});
        },
        [this](const Leadership& l) {
          news_.add({false, l.token()});
        });
  }
  std::vector<News> all() const { return news_.all(); }
  bool reaches(std::size_t count) const { return news_.reaches(count); }
  std::size_t size() const { return news_.size(); }

  // Gained and lost in turn, each pair of one leadership, and each leadership with a higher token.
  bool is_in_order() const {
    const auto news = all();
    for (std::size_t i = 0; i < news.size(); ++i) {
      if (news[i].gained != (i % 2 == 0)) return false;
      if (i % 2 == 1 && news[i].token != news[i - 1].token) return false;
      if (i % 2 == 0 && i > 0 && news[i].token <= news[i - 1].token) return false;
    }
    return true;
  }

 private:
  Chronicle<News> news_;
};

// Where threads wait until the test lets them go.
class Gate {
 public:
  // Opens it at the end of the test, also of one that fails; to be made after what waits for the
  // threads.
  class Opener {
   public:
    explicit Opener(Gate& gate) : gate_(gate) {}
    ~Opener() { gate_.open(); }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

   private:
    Gate& gate_;
  };

  void open() {
    const std::lock_guard guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.wait(lock, [this] { return open_; });
  }
  bool reached_by(int count) {
    return eventually(
        [&] {
          const std::lock_guard guard(mutex_);
          return arrived_ >= count;
        },
        kPatience);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

// For tests of LockTest and of OwnServerTest.
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
    if (!latch->await(kPatience)) throw std::runtime_error("it does not lead");
    return latch;
  }
  void expire(const Client& client) const {
    expire_session(this->chroot_.hosts(), client.session_id());
  }
  // Whether it leads in a later leadership than that with `token`.
  static bool leads_after(const LeaderLatch& latch, FencingToken token) {
    return eventually([&] { return latch.has_leadership() && latch.token() > token; }, kPatience);
  }
  // No node and, where the servers can be asked, no watch of the path.
  bool nothing_is_left() {
    if (!this->becomes_empty()) return false;
    const ZooKeeperServer* const server = SharedServer::server();
    if (server == nullptr) return true;
    return eventually([&] { return !this->watched(*server, kPath); }, kPatience);
  }
};

}  // namespace zklock::testing
