// SPDX-License-Identifier: Apache-2.0
// The promise: the guards of std and Boost accept a ReentrantMutex as a mutex. Waiting for it is an
// interruption point of Boost.Thread.

#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <boost/thread/lock_algorithms.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/thread.hpp>
#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::ReentrantMutex;

void with_std(ReentrantMutex& a, ReentrantMutex& b) {
  {
    std::unique_lock lock(a);
    promise(a.is_held_by_this_thread(), "std::unique_lock holds");
    std::unique_lock again(a, 10s);
    promise(again && a.hold_count() == 2, "a second one in the same thread nests");
  }
  promise(a.hold_count() == 0, "both have released");
  {
    // std::lock's algorithm takes two locks, in any order, without a deadlock.
    auto both = [](ReentrantMutex& first, ReentrantMutex& second) {
      for (int i = 0; i < 5; ++i) std::scoped_lock lock(first, second);
    };
    std::jthread one(both, std::ref(a), std::ref(b));
    std::jthread other(both, std::ref(b), std::ref(a));
  }
  promise(true, "std::scoped_lock over two mutexes does not deadlock");
}

void with_boost(ReentrantMutex& a, ReentrantMutex& b) {
  {
    boost::unique_lock<ReentrantMutex> lock(a);
    promise(lock.owns_lock() && a.hold_count() == 1, "boost::unique_lock holds");
  }
  boost::lock(a, b);
  promise(a.hold_count() == 1 && b.hold_count() == 1, "boost::lock takes two");
  a.unlock();
  b.unlock();
}

void interrupted(zklock::Client& client, ReentrantMutex& mutex) {
  std::unique_lock lock(mutex);
  bool was_interrupted = false;
  boost::thread waiter([&] {
    try {
      mutex.lock();
      mutex.unlock();
    } catch (const boost::thread_interrupted&) {
      was_interrupted = true;
    }
  });
  while (mutex.participants().size() < 2) std::this_thread::sleep_for(5ms);
  waiter.interrupt();
  waiter.join();
  promise(was_interrupted, "boost::thread::interrupt() ends the wait");
  // The znode is deleted in the background, so flush() waits for it.
  promise(client.flush(10s) && mutex.participants().size() == 1,
          "and the waiter has left the queue");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, [](const std::string& hosts) {
    zklock::Client client(hosts);
    ReentrantMutex a(client, "/locks/a");
    ReentrantMutex b(client, "/locks/b");
    with_std(a, b);
    with_boost(a, b);
    interrupted(client, a);
  });
}
