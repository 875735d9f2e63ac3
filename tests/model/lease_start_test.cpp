// SPDX-License-Identifier: Apache-2.0
// From when on a lease is counted, and by whose word.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/engine_fixture.h"

namespace zklock::model {
namespace {

class LeaseStartTest : public EngineTest {
 protected:
  World& world() { return lock_.world(); }
  Duration timeout() { return lock_.core(0).keeper().timeout(); }
  Instant valid_until(std::size_t call) { return lock_.call(call).hold.valid_until(); }
  /// A lease of a connection that has stood for a while, and whose heartbeats came in time.
  std::size_t held_for_a_while() {
    const std::size_t call = granted(0);
    run_for(2 * timeout());
    return call;
  }
};

TEST_F(LeaseStartTest, ItIsCountedFromTheQuestionHoweverLateTheAnswerComes) {
  const auto call = held_for_a_while();
  const Instant before = valid_until(call);
  while (!client(0).can_serve()) ASSERT_TRUE(world().clock().run_next());
  const Instant asked = world().now();
  while (client(0).can_serve()) world().run({Step::Kind::serve, 0});
  // Less than it takes for a gap between two packets to count.
  world().clock().advance_to(asked + timeout() / 12);
  while (client(0).can_receive()) world().run({Step::Kind::receive, 0});
  EXPECT_GT(valid_until(call), before) << "it was heard of";
  EXPECT_LE(valid_until(call), asked + 2 * timeout() / 3);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeaseStartTest, WhatAServerThatIsCutOffAnswersExtendsNothing) {
  const auto call = held_for_a_while();
  world().isolate(0);
  const Instant before = valid_until(call);
  int answers = 0;
  for (Instant end = world().now() + timeout() / 2; world().now() < end;) {
    client(0).submit({.operation = client::request::Get{"/"}},
                     [&answers](const client::Reply& reply) {
                       answers += reply.status == client::Status::ok ? 1 : 0;
                     });
    run_for(timeout() / 16);
  }
  EXPECT_GT(answers, 0) << "it does answer what it need not ask the others for";
  EXPECT_EQ(valid_until(call), before);
  run_for(timeout());
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  world().heal(0);
  run_for(2 * timeout());
  lock_.release(call);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
