// SPDX-License-Identifier: Apache-2.0
// A call that waits can join a single attempt of its owner that is in flight. It still waits after
// that attempt has failed. It can be stopped and interrupted, and only its own deadline ends it.
#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <stop_token>
#include <string>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// Returns whether the thread of this process sleeps.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_ends = line.rfind(')');
  return name_ends != std::string::npos && line.compare(name_ends, 3, ") S") == 0;
}

// The server is paused while the second call joins, so the first call cannot have ended before.
class JoinedAttempt : public OwnServerTest {
 protected:
  ClientOptions patient() const {
    ClientOptions patient = options();
    patient.session_timeout = 30s;  // no loss while the server is paused
    return patient;
  }
  AcquireOptions once() const { return {.owner = owner_, .deadline = Deadline::passed()}; }

  const std::unique_ptr<Client> other_ = connect(patient());
  ReentrantMutex others_mutex_{*other_, kPath};
  Hold others_hold_ = others_mutex_.acquire();
  const std::unique_ptr<Client> client_ = connect(patient());
  ReentrantMutex mutex_{*client_, kPath};
  const Owner owner_ = Owner::unique();
};

TEST_F(JoinedAttempt, StoppedDuringTheAttempt_GivesAnEmptyHold) {
  std::stop_source stop;
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  auto joined = mutex_.async_acquire(AcquireOptions{.owner = owner_, .stop = stop.get_token()});
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(joined)));
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
}

TEST_F(JoinedAttempt, StoppedAfterTheAttempt_LeavesTheQueue) {
  std::stop_source stop;
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  auto joined = mutex_.async_acquire(AcquireOptions{.owner = owner_, .stop = stop.get_token()});
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(joined));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(joined)));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
}

TEST_F(JoinedAttempt, AttemptFailed_JoinedCallIsGrantedLater) {
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  auto joined = mutex_.async_acquire(AcquireOptions{.owner = owner_});
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  ASSERT_TRUE(reaches_nodes(2));
  others_hold_.release();
  EXPECT_EQ(get(joined).state(), HoldState::held);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(JoinedAttempt, OwnDeadlinePassed_OnlyThatCallEnds) {
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  const auto deadline = LeaseClock::now() + 1s;
  auto timed = mutex_.async_acquire(AcquireOptions{.owner = owner_, .deadline = deadline});
  auto untimed = mutex_.async_acquire(AcquireOptions{.owner = owner_});
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  EXPECT_FALSE(static_cast<bool>(get(timed)));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_FALSE(is_ready(untimed));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
  others_hold_.release();
  EXPECT_TRUE(static_cast<bool>(get(untimed)));
  EXPECT_TRUE(becomes_empty());
}

class JoinedAttemptInAThread : public JoinedAttempt {
 protected:
  ~JoinedAttemptInAThread() override { thread_.join(); }

  // Starts the call in `thread`, and returns when that thread sleeps.
  void join_attempt(boost::thread& thread, AcquireOptions options) {
    thread = boost::thread([this, options] {
      id_ = ::gettid();
      try {
        result_.set_value(static_cast<bool>(mutex_.acquire(options)));
      } catch (...) {
        result_.set_exception(std::current_exception());
      }
    });
    ASSERT_TRUE(eventually([this] { return id_ != 0 && sleeps(id_); }, kTestTimeout));
  }
  bool is_interrupted() {
    try {
      static_cast<void>(get(outcome_));
    } catch (const boost::thread_interrupted&) {
      return true;
    }
    return false;
  }

  std::atomic<pid_t> id_{0};
  std::promise<bool> result_;
  std::future<bool> outcome_ = result_.get_future();
  boost::thread thread_;
};

TEST_F(JoinedAttemptInAThread, InterruptedDuringTheAttempt_Throws) {
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  join_attempt(thread_, {.owner = owner_});
  thread_.interrupt();
  EXPECT_TRUE(is_interrupted());
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
}

TEST_F(JoinedAttemptInAThread, InterruptedAfterTheAttempt_LeavesTheQueue) {
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  join_attempt(thread_, {.owner = owner_});
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  ASSERT_TRUE(reaches_nodes(2));
  thread_.interrupt();
  EXPECT_TRUE(is_interrupted());
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
