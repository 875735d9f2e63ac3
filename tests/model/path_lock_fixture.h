// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {

using namespace std::chrono_literals;

/// Three connected clients on the simulated ensemble, and a lock path that has been used before.
class PathLockTest : public ::testing::Test {
 protected:
  using Kind = OperationKind;
  using Request = LockWorld::Request;

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
  std::size_t granted(std::size_t client, Request request = {}) {
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
  /// Acquires and releases the lock. Returns the number of requests until the grant.
  std::size_t requests_of_a_grant(std::size_t c = 0) {
    reset_counts();
    const auto call = granted(c);
    const std::size_t requests = client(c).requests();
    release(call);
    return requests;
  }
  /// Acquires and releases the lock of another path.
  void cycle_other(const std::shared_ptr<detail::PathLock>& other) {
    bool is_granted = false;
    acquire_path(other, [&](const auto& outcome) {
      is_granted = outcome.contender != nullptr;
      if (is_granted) outcome.contender->release(core::CountKind::hold);
    });
    run();
    EXPECT_TRUE(is_granted);
  }
  std::size_t waiting(std::size_t client, Request request = {}) {
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
  /// Runs the steps of one client until `done`, or until none is left.
  template <class Fact>
  void run_only(std::size_t c, Fact done) {
    while (!done()) {
      const auto steps = lock_.world().steps();
      const auto next = std::ranges::find_if(steps, [c](const Step& step) {
        return step.client == c && step.kind != Step::Kind::timer;
      });
      if (next == steps.end()) return;
      lock_.world().run(*next);
    }
  }
  void run_only(std::size_t c) {
    run_only(c, [] { return false; });
  }
  /// Returns the path of a child of the lock path.
  static std::string child(const std::string& name) {
    return std::string(LockWorld::kPath) + "/" + name;
  }
  /// Deletes the path, as ZooKeeper does with an empty container, or as an operator does. No event
  /// is delivered before the next run().
  void remove_path() {
    for (const auto& names : {lock_.nodes(), lock_.hold_markers()}) {
      for (const std::string& node : names) {
        ASSERT_EQ(ensemble().remove(child(node)), Status::ok);
      }
    }
    ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
  }
  /// Creates a release request for the first contender, as another program would.
  void request_release(std::string_view data) {
    run_for(2s);  // shorter holds do not watch for a request
    const auto contender = core::contenders(lock_.nodes()).front();
    request_ = child(core::release_request_node(contender.sequence));
    ASSERT_EQ(ensemble().create(request_, std::string(data)), Status::ok);
  }
  void withdraw_request() { ASSERT_EQ(ensemble().remove(request_), Status::ok); }
  void expect_rest() {
    run_for(2s);
    EXPECT_EQ(lock_.violation_at_rest(), "");
  }
  /// Releases the holds until none is left. Expects that each call that waits is then granted.
  void release_all() {
    std::vector<std::size_t> waiters;
    for (std::size_t i = 0; i < lock_.calls(); ++i) {
      if (lock_.call(i).outcomes == 0) waiters.push_back(i);
    }
    run();
    for (bool is_held = true; is_held;) {
      is_held = false;
      for (std::size_t i = 0; i < lock_.calls(); ++i) {
        if (!lock_.call(i).hold) continue;
        lock_.release(i);
        is_held = true;
      }
      run();
    }
    for (const std::size_t waiter : waiters) EXPECT_TRUE(is_granted(waiter)) << waiter;
  }
  void finish() {
    release_all();
    expect_rest();
  }
  /// Expects that the call ended with neither a hold nor an error: its deadline passed, or it was
  /// cancelled.
  void expect_ended_with_nothing(std::size_t call) {
    EXPECT_EQ(lock_.call(call).outcomes, 1);
    EXPECT_FALSE(lock_.call(call).granted());
    EXPECT_FALSE(lock_.call(call).error);
  }
  void disconnect(std::size_t c) {
    lock_.world().disconnect(c);
    run();
  }
  void reconnect(std::size_t c) {
    lock_.world().reconnect(c);
    run();
  }
  std::string node_of(std::size_t c) { return lock_.path_lock(c)->nodes().at(0); }
  Errc error(std::size_t call) {
    const auto& e = lock_.call(call).error;
    return e ? e->errc() : Errc{};
  }
  bool is_granted(std::size_t call) { return lock_.call(call).granted(); }
  World& world() { return lock_.world(); }
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
  /// Every test ends so: all holds and lock objects are released, and nothing is left.
  void TearDown() override {
    release_all();
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) lock_.end_use(c);
    expect_rest();
  }
  void expect_existing_paths(std::size_t c) {
    const detail::EngineLock lock({lock_.core(c)});
    auto& facts = lock_.core(c).path_facts();
    while (facts.predicts_new_path()) facts.met_existing_path();
  }

  LockWorld lock_{3};

 private:
  std::string request_;  ///< for a release
};

/// The lock path is deleted and recreated, so the sequence numbers restart.
class SameNameTest : public PathLockTest {
 protected:
  explicit SameNameTest(bool announces = true)
      : PathLockTest(detail::CreateLimiter::kMostAtOnce, announces) {}

  /// Returns a grant in the recreated path. The other clients receive no event meanwhile.
  std::size_t granted_in_later_path(std::size_t c, const Request& request = {}) {
    remove_path();
    const auto call = lock_.acquire(c, request);
    run_only(c, [&] { return is_granted(call); });
    return call;
  }
  /// The sequence numbers restart at 0.
  void SetUp() override {
    PathLockTest::SetUp();
    remove_path();
  }
};

}  // namespace zklock::model
