// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"

namespace zklock::model {

using namespace std::chrono_literals;

/// Three connected clients on the simulated ensemble, and a lock path that has been used before.
class PathLockTest : public ::testing::Test {
 protected:
  PathLockTest() = default;
  explicit PathLockTest(ClientOptions options) : lock_(3, std::move(options)) {}
  explicit PathLockTest(std::size_t creates_at_once, bool announces = true)
      : lock_(3, {}, announces, creates_at_once) {}

  void run() {
    lock_.world().run_all();
    ASSERT_EQ(lock_.violation(), "");
  }
  void run_for(Duration duration) {
    lock_.world().run_for(duration);
    ASSERT_EQ(lock_.violation(), "");
  }
  void release(std::size_t call) {
    lock_.release(call);
    run();
  }
  /// Releases the lock. The requests of the release are sent, but no reply has arrived.
  void release_node(std::size_t call) {
    lock_.release(call);
    lock_.path_lock(lock_.call(call).client)->check_clocks();
  }
  std::size_t granted(std::size_t client, LockWorld::Request request = {}) {
    const std::size_t call = lock_.acquire(client, request);
    run();
    EXPECT_TRUE(lock_.call(call).granted());
    return call;
  }
  /// Acquires the lock while the client's network carries nothing for the duration `way`.
  std::size_t granted_after(Duration way, std::size_t c) {
    const std::size_t call = lock_.acquire(c);
    client(c).cut_off();
    run_for(way);
    client(c).mend();
    run();
    EXPECT_TRUE(lock_.call(call).granted());
    return call;
  }
  std::size_t waiting(std::size_t client, LockWorld::Request request = {}) {
    const std::size_t call = lock_.acquire(client, request);
    run();
    EXPECT_EQ(lock_.call(call).outcomes, 0);
    return call;
  }
  /// Runs one enabled step that is not a timer. Returns false if there is none.
  bool step() {
    for (const Step& step : lock_.world().steps()) {
      if (step.kind == Step::Kind::timer) continue;
      lock_.world().run(step);
      return true;
    }
    return false;
  }
  void expect_rest() {
    run_for(2s);
    EXPECT_EQ(lock_.violation_at_rest(), "");
  }
  /// Expects that the call ended with neither a hold nor an error: its deadline passed, or it was
  /// cancelled.
  void expect_ended_with_nothing(std::size_t call) {
    EXPECT_EQ(lock_.call(call).outcomes, 1);
    EXPECT_FALSE(lock_.call(call).granted());
    EXPECT_FALSE(lock_.call(call).error);
  }
  Errc error(std::size_t call) {
    const auto& e = lock_.call(call).error;
    return e ? e->errc() : Errc{};
  }
  bool is_granted(std::size_t call) { return lock_.call(call).granted(); }
  SimEnsemble& ensemble() { return lock_.world().ensemble(); }
  SimCoordinator& client(std::size_t c) { return lock_.world().client(c); }
  void reset_counts() {
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) client(c).reset_counts();
  }
  void SetUp() override {
    // In the steady state the path exists, because the first lock created it, and the clients
    // expect that.
    lock_.connect_all();
    release(granted(0));
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) expect_existing_paths(c);
    reset_counts();
  }
  void expect_existing_paths(std::size_t c) {
    const detail::EngineLock lock({lock_.core(c)});
    auto& facts = lock_.core(c).path_facts();
    while (facts.predicts_new_path()) facts.met_existing_path();
  }

  LockWorld lock_{3};
};

}  // namespace zklock::model
