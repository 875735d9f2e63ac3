// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {

class SessionHandoffTest : public PathLockTest {
 protected:
  using Request = LockWorld::Request;

  void SetUp() override {
    PathLockTest::SetUp();
    lock_.use(0);
    reset_counts();
  }
  void TearDown() override {
    lock_.world().reconnect(0);
    expect_rest();
    lock_.end_use(0);
  }
  static Request delayed(std::chrono::milliseconds delay) { return {.lock_delay = delay}; }

  static Request anew(Request request) {
    request.owner = Owner::unique();
    return request;
  }

  /// Expects that the release grants `next` immediately. No message is sent or received.
  void expect_handed_off(std::size_t holder, std::size_t next) {
    const auto there = lock_.nodes().size();
    lock_.release(holder);
    EXPECT_TRUE(is_granted(next));
    EXPECT_EQ(lock_.nodes().size(), there);
    EXPECT_EQ(lock_.violation(), "");
  }
  /// Expects that `next` is granted when the znode before its own is deleted.
  void expect_handed_off_by_servers(std::size_t holder, std::size_t next) {
    const std::string node = lock_.call(holder).node;
    release_node(holder);
    while (!is_granted(next)) ASSERT_TRUE(step());
    EXPECT_EQ(ensemble().find(node), nullptr);
    run();
    release(next);
  }
  void commit(std::size_t call) {
    ASSERT_EQ(ensemble().create("/data"), Status::ok);
    GuardedTransaction transaction(lock_.call(call).hold);
    transaction.set("/data", "1");
    transaction.async_commit([](const std::exception_ptr&) {});
  }
};

}  // namespace zklock::model
