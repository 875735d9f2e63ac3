// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {

inline constexpr std::size_t kEnsembles = 3;

// Longer than a test: no ensemble is skipped because of this timeout.
inline constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);

// A third of it is enough for a running ensemble, even on a busy machine. Each ensemble gets a
// share of the deadline, and counts as down if it has not answered by then.
inline constexpr std::chrono::milliseconds kShort{5000};

class Quorum : public ::testing::Test {
 protected:
  using Servers = std::array<TestServer, kEnsembles>;
  static constexpr std::size_t kNone = kEnsembles;

  // A process with its clients; one ensemble may be unreachable for it.
  struct Contender {
    std::array<std::unique_ptr<Client>, kEnsembles> clients;
    std::unique_ptr<QuorumMutex> mutex;
    QuorumMutex* operator->() const { return mutex.get(); }
    QuorumMutex::Clients all() const { return {*clients[0], *clients[1], *clients[2]}; }
  };

  static void SetUpTestSuite() { of_all_tests_ = std::make_unique<Servers>(); }
  static void TearDownTestSuite() { of_all_tests_.reset(); }

  // The test before may have left servers dead or paused, and znodes of sessions that have not
  // expired.
  void SetUp() override {
    for (TestServer& server : servers_) server.start();  // all at once
    for (TestServer& server : servers_) {
      serve(server);
      ASSERT_EQ(RawClient(server.hosts()).delete_recursive(kPath), ZOK);
    }
  }

  Contender contender(QuorumOptions options = {.ensemble_timeout = kLong},
                      std::size_t unreachable = kNone,
                      std::chrono::seconds session_timeout = std::chrono::seconds(6)) {
    Contender c;
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      ClientOptions client;
      client.hosts = i == unreachable ? nowhere_.hosts() : servers_.at(i).hosts();
      client.session_timeout = session_timeout;  // long: three servers load the machine
      client.connection_timeout = kLong;
      c.clients.at(i) = std::make_unique<Client>(client);
    }
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      if (i != unreachable && servers_.at(i).is_running()) {
        EXPECT_TRUE(c.clients.at(i)->wait_until_connected(kTestTimeout));
      }
    }
    c.mutex = std::make_unique<QuorumMutex>(c.all(), kPath, options);
    return c;
  }

  std::size_t nodes(std::size_t ensemble) {
    return without_hold_markers(RawClient(servers_.at(ensemble).hosts()).children(kPath).names)
        .size();
  }
  // Waits for these counts of contenders of the lock path. Servers that are down are skipped.
  bool reaches_nodes(const std::array<std::size_t, kEnsembles>& counts) {
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      if (!servers_.at(i).is_running()) continue;
      RawClient raw(servers_.at(i).hosts());
      const auto is_there = [&] {
        return without_hold_markers(raw.children(kPath).names).size() == counts.at(i);
      };
      if (!eventually(is_there, kTestTimeout)) return false;
    }
    return true;
  }
  static std::string taken(const QuorumHold& hold) {
    std::string text;
    for (const Hold& single : hold.holds()) text += single ? "x" : "-";
    return text;
  }
  static bool becomes(const Hold& hold, HoldState state) {
    return eventually([&] { return hold.state() == state; }, kTestTimeout);
  }
  // Ends the session, and waits until the client has a new one.
  void expire(const Contender& c, std::size_t ensemble) {
    const Client& client = *c.clients.at(ensemble);
    const auto session = client.session_id();
    expire_session(servers_.at(ensemble).hosts(), session);
    EXPECT_TRUE(eventually(
        [&] { return client.session_id() != 0 && client.session_id() != session; }, kTestTimeout));
  }

  static inline std::unique_ptr<Servers> of_all_tests_;
  Servers& servers_ = *of_all_tests_;
  TestServer nowhere_;  // never started, so unreachable
};

}  // namespace zklock::testing
