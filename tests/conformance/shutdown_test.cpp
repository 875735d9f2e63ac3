// SPDX-License-Identifier: Apache-2.0
// Closing and destroying a client: in its own callbacks, and during calls of other threads.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
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
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

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
    } catch (const UnknownSession&) {
    }
  }
};

// suite/basics_test.cpp has the calls that acquire.
TEST_F(Shutdown, ClosedTwice_QueriesThrowClosed) {
  const ElectionObserver observer(*client_, kPath);
  client_->close();
  client_->close();
  EXPECT_EQ(error_of([&] { return observer.state(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return ElectionObserver(*client_, kPath).path(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return request_release(*client_, kPath); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return mutex_.queue_position(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return client_->wait_until_connected(); }), Errc::closed);
  EXPECT_FALSE(client_->is_connected());
  EXPECT_TRUE(client_->flush());
  EXPECT_EQ(mutex_.hold_count(), 0);
}

TEST_F(Shutdown, Close_WakesEveryWaiter) {
  const Hold others_hold = others_mutex_.acquire();
  std::vector<std::future<Hold>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(in_thread([this] { return mutex_.acquire({.deadline = kTestTimeout}); }));
  for (int i = 0; i < 3; ++i) waiting.push_back(mutex_.async_acquire());
  auto locking = in_thread([this] { mutex_.lock(); });
  auto timed = in_thread([this] { return mutex_.try_lock_for(kTestTimeout); });
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
  ReentrantMutex mutex(*client, "/listened", {.listener = [](const LockEvent&) {}});
  ASSERT_TRUE(eventually([&] { return inside == 0; }, kTestTimeout));
  armed = true;
  Hold hold = mutex.acquire();  // the listener is notified of this grant
  auto has_entered = entered.get_future();
  get(has_entered);
  client->close();
  EXPECT_EQ(inside, 0);
  returned = true;
  EXPECT_TRUE(eventually([&] { return inside == 0; }, kTestTimeout));
  hold.release();
}

TEST_F(Shutdown, ServerPaused_CloseWakesFlushAndEnds) {
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving());
  ClientOptions elsewhere = options();
  elsewhere.hosts = server.hosts();
  const auto client = connect(elsewhere);
  ReentrantMutex mutex(*client, kPath);
  mutex.acquire().release();
  Hold hold = mutex.acquire();
  server.pause();  // accepts everything and answers nothing
  hold.release();
  EXPECT_FALSE(client->flush(Deadline::passed()));
  auto flushing = in_thread([&] { return client->flush(); });
  auto closing = in_thread([&] { client->close(); });
  get(closing);
  static_cast<void>(get(flushing));
  EXPECT_TRUE(client->flush());
  const Client never_connected(elsewhere);
}

// ---- in callbacks -------------------------------------------------------------------------------

// The first close() waits for the listener, so a close() in the listener must not wait for the
// first.
TEST_F(Shutdown, CloseInListenerWhileClosing_ReturnsAtOnce) {
  std::promise<void> entered;
  std::atomic<bool> closed{false};
  std::atomic<bool> at_once{false};
  std::atomic<bool> received{false};
  ClientOptions with_executor = options();
  with_executor.executor = [](const std::function<void()>& task) { task(); };
  const auto client = connect(with_executor);
  ReentrantMutex mutex(*client, "/listened", {.listener = [&](const LockEvent&) {
    if (received.exchange(true)) return;
    entered.set_value();
    const auto is_closing = [&] {
      return error_of([&] { return mutex.try_lock(); }) == Errc::closed;
    };
    EXPECT_TRUE(eventually(is_closing, kTestTimeout));
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

TEST_F(Shutdown, CloseInLossCallbackDuringOtherClose_Returns) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    const Hold hold = mutex.acquire();
    std::atomic<bool> notified{false};
    std::promise<void> closed_by_loss;
    const std::stop_callback on_loss(hold.loss_token(), [&] {
      notified = true;
      client->close();
      closed_by_loss.set_value();
    });
    // This thread closes when the callback is about to. The main thread ends the session in even
    // rounds, and closes in odd rounds.
    const bool expire = round % 2 == 0;
    auto behind = in_thread([&] {
      EXPECT_TRUE(eventually([&] { return notified.load(); }, kTestTimeout, 0ms));
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

// A client and its lock, and the thread that destroys them.
template <class Lock>
struct Belongings {
  template <class Path>
  Belongings(std::unique_ptr<Client> its, const Path& path, std::promise<std::thread::id>& where)
      : client(std::move(its)), lock(std::in_place, *client, path), destroyed(where) {}
  Belongings(const Belongings&) = delete;
  Belongings& operator=(const Belongings&) = delete;
  ~Belongings() {
    lock.reset();
    client.reset();
    destroyed.set_value(std::this_thread::get_id());
  }
  std::unique_ptr<Client> client;
  std::optional<Lock> lock;
  std::promise<std::thread::id>& destroyed;
};

// The handler has the last reference to the client. So the thread that calls it, after the grant or
// the stop, destroys the client.
class HandlerOwnsTheClient : public Shutdown {
 protected:
  template <class Lock, class Path>
  void expect_destruction_by_its_thread(const Path& path, bool stops) {
    std::promise<std::thread::id> called;
    std::promise<std::thread::id> destroyed;
    std::stop_source stop;
    Hold hold = others_mutex_.acquire();
    {
      const auto all = std::make_shared<Belongings<Lock>>(connect(), path, destroyed);
      all->lock->async_acquire({.stop = stop.get_token()},
                               [all, &called, stops](const auto& grant, const auto& error) {
                                 EXPECT_NE(static_cast<bool>(grant), stops);
                                 EXPECT_EQ(error, nullptr);
                                 called.set_value(std::this_thread::get_id());
                               });
    }
    if (stops) stop.request_stop();
    hold.release();
    auto caller = called.get_future();
    auto destroyer = destroyed.get_future();
    ASSERT_EQ(get(caller), get(destroyer));
  }
};

TEST_F(HandlerOwnsTheClient, GrantedOrStopped_ThreadOfTheHandlerDestroysIt) {
  const std::vector<std::string> paths{"/a", kPath};
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const bool stops = round % 4 == 3;
    expect_destruction_by_its_thread<ReentrantMutex>(kPath, stops);
    expect_destruction_by_its_thread<MultiMutex>(paths, stops);
  }
  EXPECT_TRUE(becomes_empty());
}

// ---- during calls -------------------------------------------------------------------------------

// Counts that its thread is about to end. The library learns of that end after all thread_local
// objects are destroyed.
struct LastWord {
  std::atomic<int>* received = nullptr;
  ~LastWord() {
    if (received != nullptr) ++*received;
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
      last_word.received = &ending;
      ++locked;
      while (next < i) std::this_thread::yield();
    }));
  }
  ASSERT_TRUE(eventually([&] { return locked == kThreads; }, kTestTimeout));
  client_->close();
  for (int i = 0; i < kThreads; ++i) {
    next = i;
    while (ending <= i) {
    }
    mutexes[static_cast<std::size_t>(i)].reset();
  }
  for (auto& thread : threads) get(thread);
}

// The call of another thread begins when the client is closed. It ends with its result, or throws
// Errc::closed.
TEST_F(Shutdown, CloseRacesWithCall_CallEnds) {
  enum class Call { flush, lock, async_acquire };
  constexpr int kRounds = 50;
  for (const Call call : {Call::flush, Call::lock, Call::async_acquire}) {
    for (int round = 0; round < kRounds; ++round) {
      std::atomic<int> handled{0};
      std::atomic<bool> begun{false};
      const auto client = connect();
      ReentrantMutex mutex(*client, kPath);
      mutex.acquire().release();
      auto calling = in_thread([&] {
        begun = true;
        return error_of([&] {
          if (call == Call::flush) static_cast<void>(client->flush());
          if (call == Call::lock) mutex.lock();
          if (call != Call::async_acquire) return;
          mutex.async_acquire([&](const Hold& hold, const std::exception_ptr& error) {
            EXPECT_EQ(static_cast<bool>(hold), error == nullptr);
            ++handled;
          });
        });
      });
      EXPECT_TRUE(eventually([&] { return begun.load(); }, kTestTimeout, 0ms));
      client->close();
      const auto error = get(calling);
      EXPECT_TRUE(!error || error == Errc::closed);
      const int handlers = call == Call::async_acquire && !error ? 1 : 0;
      EXPECT_TRUE(eventually([&] { return handled == handlers; }, kTestTimeout)) << round;
    }
  }
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
