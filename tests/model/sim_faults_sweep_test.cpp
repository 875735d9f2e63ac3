// SPDX-License-Identifier: Apache-2.0
// Random faults of the simulated ensemble, from seeds.
#include <random>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

// Random schedules with all faults. Each request gets exactly one reply, and nothing is left.
class SimFaultsSweep {
 public:
  explicit SimFaultsSweep(unsigned seed) : random_(seed) {
    world_.ensemble().create("/p");
    world_.ensemble().create("/p/x");
    for (Recorder& client : clients_) client.start();
  }
  // Runs the schedule, and returns its events as text.
  std::string run() {
    for (int i = 0; i < 300; ++i) turn();
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      world_.resume(c);
      world_.heal(c);
      world_.client(c).catch_up();
      world_.reconnect(c);
    }
    // A pending fault can still break a connection.
    for (int i = 0; i < 40; ++i) {
      world_.run_for(1s);
      for (std::size_t c = 0; c < clients_.size(); ++c) world_.reconnect(c);
    }
    std::string story;
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      EXPECT_EQ(clients_[c].open_requests(), 0);
      EXPECT_EQ(world_.client(c).unanswered(), 0u);
      EXPECT_LE(world_.client(c).server_watches(), world_.client(c).live_interests());
      world_.client(c).close();
      EXPECT_EQ(world_.client(c).server_watches() + world_.client(c).live_interests(), 0u);
      for (const std::string& line : clients_[c].log) story += line + '\n';
    }
    world_.run_for(1min);
    EXPECT_EQ(world_.ensemble().session_count(), 0u);
    EXPECT_EQ(world_.clock().pending(), 0u);
    EXPECT_EQ(world_.ensemble().find("/p")->children, std::vector<std::string>{"x"});
    return story;
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  void turn() {
    const std::size_t c = pick(clients_.size());
    if (pick(3) == 0) {
      submit(c);
    } else if (pick(12) == 0) {
      break_something(c);
    } else {
      world_.steps(steps_);
      if (!steps_.empty()) world_.run(steps_[pick(steps_.size())]);
    }
  }
  void submit(std::size_t c) {
    Recorder& client = clients_[c];
    const std::string label = std::to_string(++labels_);
    switch (pick(6)) {
      case 0: client.create(label); return;
      case 1: client.create(label, "/p", world_.client(c).session()); return;
      case 2: client.send(label, CountChildren{"/p"}); return;
      case 3: client.send(label, Check{"/p"}); return;
      case 4: watches_.emplace_back(c, client.watch(label, "/p/x")); return;
      default:
        if (watches_.empty()) return;
        const auto& [owner, id] = watches_[pick(watches_.size())];
        world_.client(owner).unwatch(id);
        world_.client(owner).cancel_unsent(id);
    }
  }
  void break_something(std::size_t c) {
    switch (pick(13)) {
      case 0: world_.disconnect(c); return;
      case 1: world_.disconnect(c, OnTheWay::linger); return;
      case 2: world_.expire(c); return;
      case 3: world_.lose_reply(c); return;
      case 4: world_.lose_request(c); return;
      case 5: world_.isolate(c); return;
      case 6: world_.heal(c); return;
      case 7: world_.pause(c); return;
      case 8: world_.resume(c); return;
      case 9: world_.client(c).lag(); return;
      case 10: world_.ensemble().set_data("/p/x", "changed"); return;
      case 11: world_.fail_next(c, OperationKind::get_and_watch, Status::throttled); return;
      default: world_.reconnect(c); return;
    }
  }

  std::mt19937 random_;
  World world_{3, {.relay_interval = 1500ms, .relay_phase = 100ms}};
  std::array<Recorder, 3> clients_{Recorder{world_, 0}, Recorder{world_, 1}, Recorder{world_, 2}};
  std::vector<Step> steps_;
  std::vector<std::pair<std::size_t, RequestId>> watches_;
  int labels_ = 0;
};

TEST(SimFaultsSweepTest, EveryFault_EachRequestGetsExactlyOneReply) {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    SimFaultsSweep(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SimFaultsSweepTest, SameSeed_GivesSameLog) {
  const std::string story = SimFaultsSweep(7).run();
  EXPECT_FALSE(story.empty());
  EXPECT_EQ(story, SimFaultsSweep(7).run());
  EXPECT_NE(story, SimFaultsSweep(8).run());
}

}  // namespace
}  // namespace zklock::model
