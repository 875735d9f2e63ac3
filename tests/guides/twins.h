// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/testing/matchers.h"
#include "zklock/zklock.h"

/// The base of the tests that include twins: the C++ of the guides from_*.md, which twins.py
/// extracts. `client` is the client of the twins, and `other` that of another process.
class TwinTest : public ::testing::Test {
  // Before the clients, so that their callbacks can use these until the clients are destroyed.
  static inline TwinTest* running_ = nullptr;
  std::mutex mutex_;
  int reports_ = 0;
  std::vector<std::string> lines_;

 public:
  /// Records that a twin works under the lock, if that excludes the other process.
  void add_report(zklock::FencingToken token) {
    const bool excludes = is_excluded("/locks/report") || is_excluded("/leaders/report");
    const std::lock_guard guard(mutex_);
    if (excludes && token > zklock::FencingToken()) ++reports_;
  }
  void add_line(const std::string& line) {
    const std::lock_guard guard(mutex_);
    lines_.push_back(line);
  }
  [[nodiscard]] static TwinTest& running() { return *running_; }

 protected:
  TwinTest() { running_ = this; }

  [[nodiscard]] bool is_excluded(const std::string& path) {
    return !zklock::Mutex(other, path).try_lock();
  }
  [[nodiscard]] bool can_read(const std::string& path) {
    zklock::SharedMutex probe(other, path);
    return static_cast<bool>(probe.acquire_shared(zklock::Deadline::passed()));
  }
  /// Returns whether the other process could lock the path after all releases of the client.
  [[nodiscard]] bool is_free(const std::string& path = "/locks/report") {
    return client.flush() && !is_excluded(path);
  }
  [[nodiscard]] int reports() {
    const std::lock_guard guard(mutex_);
    return reports_;
  }
  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard guard(mutex_);
    return lines_;
  }
  /// Cuts the network of the client, until its session has ended.
  void lose_session() {
    ensemble.link(client).cut();
    ensemble.advance(std::chrono::seconds(30));
  }

  /// Cuts the network of the client. Expects that its hold of /locks/report is reported lost by
  /// log(), before the other process can lock the path.
  void expect_notice_before_next_grant() {
    ensemble.link(client).cut();
    ASSERT_TRUE(ensemble.advance_until([&] { return !lines().empty(); }));
    EXPECT_THAT(lines(), ::testing::ElementsAre("the hold is lost"));
    EXPECT_TRUE(is_excluded("/locks/report"));
  }

  zklock::testing::FakeEnsemble ensemble;
  zklock::Client client{ensemble.hosts()};
  zklock::Client other{ensemble.hosts()};
};

// The functions that the twins call.
inline void make_report(zklock::FencingToken token, const std::stop_token& /*lost*/) {
  TwinTest::running().add_report(token);
}
inline void log(const std::string& line) {
  TwinTest::running().add_line(line);
}
