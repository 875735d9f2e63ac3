// SPDX-License-Identifier: Apache-2.0
// Calls that pass a gate before they ask for the lock.
#include "zklock/recipes/acquire_call.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/engine_fixture.h"

namespace zklock::model {
namespace {

// What came of one call, and the hold if it was granted.
struct GatedCall {
  int outcomes = 0;
  std::optional<Error> error;
  Hold hold;
};

std::shared_ptr<GatedCall> start(const std::shared_ptr<recipes::LockEngine>& engine, Owner owner) {
  auto call = std::make_shared<GatedCall>();
  recipes::AcquireCall::start(engine,
                              {.owner = owner,
                               .gate = core::QueueRule::weighted(5, 100),
                               .deadline = Deadline::never(),
                               .done =
                                   [call](recipes::Outcome outcome) {
                                     ++call->outcomes;
                                     call->error = std::move(outcome.error);
                                     if (outcome.contender)
                                       call->hold =
                                           outcome.contender->make_hold(core::CountKind::hold);
                                   }},
                              {});
  return call;
}

class GateTest : public EngineTest {
 protected:
  // Runs what is of one client only, until `done`.
  template <class Fact>
  void run_only(std::size_t c, Fact done) {
    while (!done()) {
      bool any = false;
      for (const Step& step : lock_.world().steps()) {
        if (step.client != c || step.kind == Step::Kind::timer) continue;
        lock_.world().run(step);
        any = true;
        break;
      }
      ASSERT_TRUE(any) << "nothing is left to be done";
    }
  }
  const std::shared_ptr<recipes::LockEngine> engine_ = lock_.engine(0);
};

// The leave goes with the session, and is nobody's loss: nobody held.
TEST_F(GateTest, ASecondCallOfWhoQueuesAgainJoinsIt) {
  const Owner owner = Owner::unique();
  const auto first = start(engine_, owner);
  run_only(0, [&] { return engine_->contends(owner); });  // it has passed the gate
  const auto holder = lock_.acquire(1);
  run_only(1, [&] { return lock_.call(holder).granted(); });
  run();
  EXPECT_EQ(first->outcomes, 0);
  lock_.world().expire(0);
  run();
  lock_.world().reconnect(0);
  run();
  const auto second = start(engine_, owner);
  run();
  EXPECT_EQ(second->outcomes, 0);
  EXPECT_EQ(lock_.nodes().size(), 2U) << "the holder's, and one for both";
  lock_.release(holder);
  lock_.world().run_for(2s);
  ASSERT_TRUE(first->hold && second->hold);
  EXPECT_EQ(first->hold.token(), second->hold.token());
  first->hold.release();
  second->hold.release();
  run();
  expect_rest();
}

TEST_F(GateTest, WhoLostTheLockHearsSoWithoutQueueingAtTheGate) {
  const Owner owner = Owner::unique();
  const auto lost = start(engine_, owner);
  run();
  ASSERT_TRUE(lost->hold);
  lock_.world().expire(0);
  run();
  lock_.world().reconnect(0);
  const auto holder = granted(1);
  const auto again = start(engine_, owner);
  run();
  ASSERT_TRUE(again->error);
  EXPECT_EQ(again->error->errc(), Errc::lock_lost);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  lost->hold.release();
  lock_.release(holder);
  run();
  expect_rest();
}

// A coordinator that gives no more to contenders of the lock; those at the gate get what they want.
class Exhausted final : public client::Coordinator {
 public:
  explicit Exhausted(client::Coordinator& real) : real_(real) {}
  void start(client::SessionObserver& observer) override { real_.start(observer); }
  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    const auto* create = std::get_if<client::request::CreateContender>(&request.operation);
    if (create != nullptr && create->prefix == core::QueueRule::mutex().prefix) {
      throw std::system_error(std::make_error_code(std::errc::not_enough_memory));
    }
    return real_.submit(std::move(request), std::move(handler));
  }
  void soon(std::function<void()> task) override { real_.soon(std::move(task)); }
  bool abandon(client::RequestId id) override { return real_.abandon(id); }
  void unwatch(client::RequestId id) override { real_.unwatch(id); }
  void close() override { real_.close(); }
  std::string trouble() const override { return real_.trouble(); }

 private:
  client::Coordinator& real_;
};

TEST(Gate, WhatTheSystemRefusesAfterItComesToTheCall) {
  World world;
  const auto borrowed = [](auto& port) {
    return std::shared_ptr<std::decay_t<decltype(port)>>(std::shared_ptr<void>(), &port);
  };
  const auto core = recipes::ClientCore::make(
      {.coordinator = std::make_shared<Exhausted>(world.client(0)),
       .scheduler = {std::shared_ptr<void>(), &world.scheduler(0)},
       .dispatcher = borrowed(world.dispatcher(0)),
       .losses = borrowed(world.dispatcher(0))},
      {.hosts = "sim", .application = "test", .host = "host", .logger = nullptr});
  world.reconnect(0);
  world.run_all();
  const auto engine = core->engine(core::LockPath("/a"));
  const auto call = start(engine, Owner::unique());
  world.run_all();
  EXPECT_EQ(call->outcomes, 1);
  ASSERT_TRUE(call->error);
  EXPECT_EQ(call->error->errc(), Errc::server_error);
  world.run_for(2s);
  EXPECT_TRUE(engine->gate()->nodes().empty()) << "the leave is given back";
  EXPECT_TRUE(core->work().idle());
  core->close();
}

}  // namespace
}  // namespace zklock::model
