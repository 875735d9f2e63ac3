// SPDX-License-Identifier: Apache-2.0
// A job stops writing when its lock is lost. Its test needs no server, and no time.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace {

using namespace std::chrono_literals;

/// Writes entries while it holds the lock.
class Job {
 public:
  explicit Job(const std::string& hosts) : client_(hosts) {}

  /// Acquires the lock. Returns after its loss, or when a stop was requested.
  void run(const std::stop_token& stop) {
    const zklock::Hold hold = lock_.acquire({.stop = stop});
    std::stop_source end;
    const std::stop_callback on_loss(hold.loss_token(), [&end] { end.request_stop(); });
    const std::stop_callback on_stop(stop, [&end] { end.request_stop(); });
    std::unique_lock guard(mutex_);
    while (changed_.wait(guard, end.get_token(), [this] { return !entries_.empty(); })) {
      if (!hold.is_valid()) return;
      written_.push_back(std::move(entries_.front()));
      entries_.pop_front();
    }
  }
  void add(std::string entry) {
    const std::lock_guard guard(mutex_);
    entries_.push_back(std::move(entry));
    changed_.notify_one();
  }
  std::vector<std::string> written() {
    const std::lock_guard guard(mutex_);
    return written_;
  }

 private:
  zklock::Client client_;
  zklock::Mutex lock_{client_, "/jobs/nightly"};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> entries_;
  std::vector<std::string> written_;
};

TEST(Job, LockIsLost_StopsWriting) {
  zklock::testing::FakeEnsemble ensemble;
  Job job(ensemble.hosts());
  const std::jthread worker([&](const std::stop_token& stop) { job.run(stop); });
  job.add("first");
  ensemble.settle();
  EXPECT_EQ(job.written(), std::vector<std::string>{"first"});

  ensemble.link(0).cut();
  ensemble.advance(10s);
  job.add("second");
  ensemble.settle();
  EXPECT_EQ(job.written(), std::vector<std::string>{"first"});
}

}  // namespace
