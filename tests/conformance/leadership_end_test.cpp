// SPDX-License-Identifier: Apache-2.0
// The threads on which the user's callbacks for the end of a leadership run.
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"

namespace zklock::testing {
namespace {

// Records the thread that ran the callback on Leadership::end_token().
class Ending {
 public:
  explicit Ending(const Leadership& leadership)
      : on_end_(leadership.end_token(), [this] { thread_.set_value(std::this_thread::get_id()); }) {
  }
  std::thread::id thread() { return get(notified_); }

 private:
  std::promise<std::thread::id> thread_;
  std::future<std::thread::id> notified_ = thread_.get_future();
  std::stop_callback<std::function<void()>> on_end_;
};

class LeadershipEnd : public LeaderTest<LockTest> {
 protected:
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(LeadershipEnd, LatchIsClosed_CallbackRunsOnTheClosingThread) {
  const auto latch = leading_latch(*client_);
  Ending ending(latch->leadership());
  latch->close();
  EXPECT_EQ(ending.thread(), std::this_thread::get_id());
}

TEST_F(LeadershipEnd, ElectionIsEndedByACall_CallbackRunsOnThatThread) {
  using End = void (*)(LeaderElection&);
  for (const End end :
       {End([](LeaderElection& e) { e.interrupt(); }), End([](LeaderElection& e) { e.withdraw(); }),
        End([](LeaderElection& e) { e.close(); })}) {
    std::promise<Leadership> led;
    LeaderElection election(*client_, kPath, {.auto_requeue = false}, [&](Leadership& leadership) {
      const std::stop_token ended = leadership.end_token();
      led.set_value(leadership);
      EXPECT_TRUE(eventually([&] { return ended.stop_requested(); }, kTestTimeout));
    });
    election.start();
    auto leads = led.get_future();
    Ending ending(get(leads));
    end(election);
    EXPECT_EQ(ending.thread(), std::this_thread::get_id());
  }
}

}  // namespace
}  // namespace zklock::testing
