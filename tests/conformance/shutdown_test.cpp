// SPDX-License-Identifier: Apache-2.0
// Closing and destroying at any moment and from any thread.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "support/expire_session.h"

namespace zklock::testing {
namespace {

class Shutdown : public LockTest {
 protected:
  std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  ReentrantMutex others_mutex_{*other_, kPath};

  // Ends the session of the client. The client itself may end it first, when its connection is
  // taken over.
  void end_session(const Client& client) const {
    try {
      expire_session(chroot_.hosts(), client.session_id());
    } catch (const ConnectError& error) {
      if (!error.session_expired()) throw;
    }
  }
};

TEST_F(Shutdown, ClientClosed_EveryCallThrowsClosed) {
  client_->close();
  client_->close();
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.acquire(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.async_acquire().get(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { mutex_.async_acquire({}, [](const Hold&, const auto&) {}); }),
            Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.participants(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.queue_position(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return client_->wait_until_connected(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return ReentrantMutex(*client_, "/other").path(); }), Errc::closed);
  EXPECT_FALSE(client_->is_connected());
  EXPECT_TRUE(client_->flush());
  EXPECT_EQ(mutex_.hold_count(), 0);
}

TEST_F(Shutdown, Close_WakesEveryWaiter) {
  const Hold others_hold = others_mutex_.acquire();
  std::vector<std::future<Hold>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(in_thread([this] { return mutex_.acquire({.deadline = kPatience}); }));
  for (int i = 0; i < 3; ++i) waiting.push_back(mutex_.async_acquire());
  auto locking = in_thread([this] { mutex_.lock(); });
  auto timed = in_thread([this] { return mutex_.try_lock_for(kPatience); });
  std::promise<std::exception_ptr> handled;
  mutex_.async_acquire({}, [&](const Hold& hold, std::exception_ptr error) {
    EXPECT_FALSE(static_cast<bool>(hold));
    handled.set_value(std::move(error));
  });
  ASSERT_TRUE(reaches_nodes(10));
  auto closing = in_thread([this] { client_->close(); });
  for (auto& future : waiting) EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
  EXPECT_EQ(error_of([&] { get(locking); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return get(timed); }), Errc::closed);
  auto error = handled.get_future();
  EXPECT_EQ(error_of([&] { std::rethrow_exception(get(error)); }), Errc::closed);
  get(closing);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold.state(), HoldState::held);
}

TEST_F(Shutdown, Close_LosesHoldsAndGrantsNext) {
  std::atomic<int> fired{0};
  Hold hold = mutex_.acquire();
  mutex_.lock();
  const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });
  const auto token = hold.token();
  auto waiting = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  client_->close();
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(fired, 1);
  EXPECT_GT(get(waiting).token(), token);
  mutex_.unlock();  // no effect
  EXPECT_EQ(hold.token(), token);
  hold.release();
  EXPECT_EQ(fired, 1);
}

TEST_F(Shutdown, ClientDestroyedWhileHeld_HoldIsLost) {
  Hold hold = mutex_.acquire();
  auto waiting = in_thread([this] { return mutex_.acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  client_.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(hold.loss_token().stop_requested());
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
  EXPECT_TRUE(static_cast<bool>(others_mutex_.acquire({.deadline = kPatience})));
  hold.release();
}

// The executor and the objects that it refers to may be destroyed directly after the client.
TEST_F(Shutdown, CloseReturned_ExecutorIsNoLongerCalled) {
  SingleThread single;
  std::promise<void> entered;
  std::atomic<bool> armed{false};
  std::atomic<bool> returned{false};
  std::atomic<int> inside{0};
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) {
    ++inside;
    if (armed.exchange(false)) {
      entered.set_value();
      EXPECT_FALSE(eventually([&] { return returned.load(); }, 1s)) << "close() must wait for this";
    }
    single(std::move(task));
    --inside;
  };
  auto client = connect(with_executor);
  ReentrantMutex mutex(*client, "/heard", {.listener = [](const LockEvent&) {}});
  ASSERT_TRUE(eventually([&] { return inside == 0; }, kPatience));
  armed = true;
  Hold hold = mutex.acquire();  // the listener is notified of this grant
  auto has_entered = entered.get_future();
  get(has_entered);
  client->close();
  EXPECT_EQ(inside, 0);
  returned = true;
  EXPECT_TRUE(eventually([&] { return inside == 0; }, kPatience));
  hold.release();
}

// The first close() waits for the listener, so a close() in the listener must not wait for the
// first.
TEST_F(Shutdown, CloseInListenerWhileClosing_ReturnsAtOnce) {
  std::promise<void> entered;
  std::atomic<bool> closed{false};
  std::atomic<bool> at_once{false};
  std::atomic<bool> heard{false};
  ClientOptions with_executor = options();
  with_executor.executor = [](const std::function<void()>& task) { task(); };
  const auto client = connect(with_executor);
  ReentrantMutex mutex(*client, "/heard", {.listener = [&](const LockEvent&) {
    if (heard.exchange(true)) return;
    entered.set_value();
    const auto is_closing = [&] {
      return error_of([&] { return mutex.try_lock(); }) == Errc::closed;
    };
    EXPECT_TRUE(eventually(is_closing, kPatience));
    client->close();
    at_once = !closed;
  }});
  Hold hold = mutex.acquire();
  auto has_entered = entered.get_future();
  get(has_entered);
  client->close();
  closed = true;
  EXPECT_TRUE(at_once);
  hold.release();
}

// Counts that its thread is about to end. The library learns of that end after all thread_local
// objects are destroyed.
struct LastWord {
  std::atomic<int>* heard = nullptr;
  ~LastWord() {
    if (heard != nullptr) ++*heard;
  }
};

// Each thread ends at the moment at which its lock, of a closed client, is destroyed.
TEST_F(Shutdown, ThreadsEndWhileLocksAreDestroyed_AllEnd) {
  constexpr int kThreads = 64;
  std::vector<std::unique_ptr<ReentrantMutex>> mutexes;
  std::vector<std::future<void>> threads;
  std::atomic<int> locked{0};
  std::atomic<int> next{-1};
  std::atomic<int> ending{0};
  for (int i = 0; i < kThreads; ++i) {
    mutexes.push_back(std::make_unique<ReentrantMutex>(*client_, "/of/" + std::to_string(i)));
    threads.push_back(in_thread([&, i, mutex = mutexes.back().get()] {
      thread_local LastWord last_word;
      mutex->lock();
      last_word.heard = &ending;
      ++locked;
      while (next < i) std::this_thread::yield();
    }));
  }
  ASSERT_TRUE(eventually([&] { return locked == kThreads; }, kPatience));
  client_->close();
  for (int i = 0; i < kThreads; ++i) {
    next = i;
    while (ending <= i) {
    }
    mutexes[static_cast<std::size_t>(i)].reset();
  }
  for (auto& thread : threads) get(thread);
}

TEST_F(Shutdown, CloseInHandler_ClosesAndLosesHold) {
  std::promise<void> closed;
  mutex_.async_acquire({}, [&](Hold hold, const std::exception_ptr&) {
    client_->close();
    EXPECT_EQ(hold.state(), HoldState::lost);
    closed.set_value();
  });
  auto has_closed = closed.get_future();
  get(has_closed);
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
}

TEST_F(Shutdown, ClientDestroyedInHandler_LeavesNoNode) {
  std::promise<void> destroyed;
  mutex_.async_acquire({}, [&](const Hold&, const std::exception_ptr&) {
    client_.reset();
    destroyed.set_value();
  });
  auto has_destroyed = destroyed.get_future();
  get(has_destroyed);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseInListenerOrLossCallback_Closes) {
  std::promise<void> closed;
  auto has_closed = closed.get_future();
  std::atomic<int> calls{0};
  const auto subscription = client_->add_listener([&](ConnectionState) {
    if (calls++ > 0) return;
    client_->close();
    closed.set_value();
  });
  end_session(*client_);
  get(has_closed);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);

  const Hold hold = others_mutex_.acquire();
  std::promise<void> closed_by_loss;
  auto has_closed_by_loss = closed_by_loss.get_future();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    other_->close();
    closed_by_loss.set_value();
  });
  end_session(*other_);
  get(has_closed_by_loss);
  EXPECT_EQ(error_of([&] { others_mutex_.lock(); }), Errc::closed);
}

TEST_F(Shutdown, CloseByManyThreads_LosesHold) {
  const Hold hold = mutex_.acquire();
  std::vector<std::future<void>> closing;
  for (int i = 0; i < 4; ++i) {
    closing.push_back(in_thread([this] {
      client_->close();
      EXPECT_FALSE(client_->is_connected());
    }));
  }
  for (auto& future : closing) get(future);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_F(Shutdown, CloseDuringCalls_EndsThemWithClosed) {
  for (int round = 0; round < 5; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    std::atomic<bool> begun{false};
    std::vector<std::future<void>> threads;
    for (int i = 0; i < 4; ++i) {
      threads.push_back(in_thread([&] {
        for (;;) {
          const auto error = error_of([&] { return mutex.acquire({.deadline = kPatience}); });
          begun = true;
          if (!error) continue;
          EXPECT_EQ(error, Errc::closed);
          return;
        }
      }));
    }
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kPatience));
    client->close();
    for (auto& thread : threads) get(thread);
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, MutexDestroyed_WakesItsWaiters) {
  const Hold others_hold = others_mutex_.acquire();
  auto mutex = std::make_unique<ReentrantMutex>(*client_, kPath);
  auto waiting = in_thread([m = mutex.get()] { return m->acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  auto future = mutex->async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  auto of_another_object = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(4));
  mutex.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
  EXPECT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(of_another_object));  // calls of other objects continue to wait
}

// The close() runs the callback, which calls close() again.
TEST_F(Shutdown, CloseInLossCallbackOfClose_Returns) {
  std::promise<void> closed_by_loss;
  const Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    client_->close();
    closed_by_loss.set_value();
  });
  auto closing = in_thread([this] { client_->close(); });
  get(closing);
  auto has_closed = closed_by_loss.get_future();
  get(has_closed);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseInLossCallbackDuringOtherClose_Returns) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    const Hold hold = mutex.acquire();
    std::atomic<bool> told{false};
    std::promise<void> closed_by_loss;
    const std::stop_callback on_loss(hold.loss_token(), [&] {
      told = true;
      client->close();
      closed_by_loss.set_value();
    });
    // This thread closes when the callback is about to. The main thread ends the session in even
    // rounds, and closes in odd rounds.
    const bool expire = round % 2 == 0;
    auto behind = in_thread([&] {
      EXPECT_TRUE(eventually([&] { return told.load(); }, kPatience, 0ms));
      client->close();
    });
    if (expire) {
      end_session(*client);
    } else {
      client->close();
    }
    get(behind);
    auto has_closed = closed_by_loss.get_future();
    get(has_closed);
    EXPECT_EQ(hold.state(), HoldState::lost);
    EXPECT_FALSE(client->is_connected());
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, ClientClosed_FutureHoldsTheError) {
  client_->close();
  std::future<Hold> future;
  ASSERT_NO_THROW(future = mutex_.async_acquire());
  ASSERT_TRUE(future.valid());
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
}

TEST_F(Shutdown, Close_WakesFlush) {
  ZooKeeperServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving());
  ClientOptions elsewhere = options();
  elsewhere.hosts = server.hosts();
  const auto client = connect(elsewhere);
  ReentrantMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  server.pause();
  hold.release();
  EXPECT_FALSE(client->flush(Deadline::passed()));  // no server confirms
  auto flushing = in_thread([&] { return client->flush(); });
  auto closing = in_thread([&] { client->close(); });
  get(closing);
  static_cast<void>(get(flushing));
  EXPECT_TRUE(client->flush());
}

TEST_F(Shutdown, CloseRacesWithFlush_BothEnd) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    mutex.acquire().release();
    std::atomic<bool> begun{false};
    auto flushing = in_thread([&] {
      begun = true;
      return client->flush();
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kPatience, 0ms));
    client->close();
    static_cast<void>(get(flushing));
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseRacesWithLock_GrantsOrThrowsClosed) {
  constexpr int kRounds = 50;
  int granted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    std::atomic<bool> begun{false};
    auto locking = in_thread([&] {
      begun = true;
      return error_of([&] { mutex.lock(); });
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kPatience, 0ms));
    client->close();
    const auto error = get(locking);
    if (error) {
      EXPECT_EQ(error, Errc::closed);
    } else {
      ++granted;
    }
  }
  RecordProperty("granted", granted);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseRacesWithAsyncAcquire_CallsHandlerOrThrows) {
  constexpr int kRounds = 50;
  int thrown = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> handled{0};
    std::atomic<bool> begun{false};
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    auto starting = in_thread([&] {
      begun = true;
      return error_of([&] {
        mutex.async_acquire({}, [&](const Hold& hold, const std::exception_ptr& error) {
          EXPECT_EQ(static_cast<bool>(hold), error == nullptr);
          ++handled;
        });
      });
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kPatience, 0ms));
    client->close();
    const auto error = get(starting);
    if (error) {
      ++thrown;
      EXPECT_EQ(error, Errc::closed);
      EXPECT_EQ(handled, 0) << "round " << round;
    } else {
      EXPECT_TRUE(eventually([&] { return handled == 1; }, kPatience)) << "round " << round;
    }
  }
  RecordProperty("thrown", thrown);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseWithoutServer_TakesBoundedTime) {
  ZooKeeperServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving());
  ClientOptions elsewhere = options();
  elsewhere.hosts = server.hosts();
  auto client = connect(elsewhere);
  Hold hold = ReentrantMutex(*client, kPath).acquire();
  server.pause();  // accepts everything and answers nothing
  const auto begun = LeaseClock::now();
  client.reset();
  EXPECT_LT(LeaseClock::now() - begun, 20s);
  EXPECT_EQ(hold.state(), HoldState::lost);

  auto never_connected = std::make_unique<Client>(elsewhere);
  never_connected.reset();
  EXPECT_LT(LeaseClock::now() - begun, 40s);
}

}  // namespace
}  // namespace zklock::testing
