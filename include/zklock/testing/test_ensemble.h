// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/test_server.h"

namespace zklock::testing {

/// Real ZooKeeper servers that form one quorum, each with the controls of TestServer. Members count
/// from 0.
///
/// Thread-safety: hosts() from any thread. One thread at a time may use the other members.
class TestEnsemble {
 public:
  /// How the members reach each other.
  ///
  /// | links    | a member reaches a leader                                                 |
  /// |----------|---------------------------------------------------------------------------|
  /// | direct   | directly                                                                  |
  /// | cuttable | through a proxy, so that isolate() can cut it                             |
  enum class Links { direct, cuttable };

  /// Does not start the servers. `options` applies to each member; its my_id is ignored.
  /// Throws std::runtime_error.
  explicit TestEnsemble(const TestServerOptions& options = {}, std::size_t size = 3,
                        Links links = Links::direct);
  /// Has a member for each element of `options`.
  TestEnsemble(std::vector<TestServerOptions> options, Links links);
  ~TestEnsemble();
  TestEnsemble(const TestEnsemble&) = delete;
  TestEnsemble& operator=(const TestEnsemble&) = delete;

  /// Start or stop all members. start() does not wait until they serve.
  void start();
  void stop();
  /// Blocks until each running member that is not paused serves, and exactly one of them leads.
  /// Returns false after `timeout`.
  [[nodiscard]] bool wait_until_serving(
      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;

  /// Cuts the links between the member and the others, so that it loses the quorum. It notices that
  /// some seconds after the `syncLimit` of its configuration: with the defaults, 12 ticks of 500
  /// ms, after 8 to 11 s. Until then its clients stay connected, and it answers reads. If it led,
  /// the others elect another leader.
  /// REQUIRES: Links::cuttable.
  void isolate(std::size_t member);
  /// Ends each isolate().
  void rejoin();

  /// Return the number of members, and a member by its index.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] TestServer& operator[](std::size_t index);
  [[nodiscard]] const TestServer& operator[](std::size_t index) const;
  /// Returns the member that serves as leader. Returns nullopt if there is none, or if two claim
  /// it. Paused members are not queried.
  [[nodiscard]] std::optional<std::size_t> leader() const;
  /// Returns the members that serve as followers.
  [[nodiscard]] std::vector<std::size_t> followers() const;

  /// Returns the addresses of all members: "127.0.0.1:a,127.0.0.1:b,...".
  [[nodiscard]] std::string hosts() const;
  /// Returns the logs of all members, for a failure message.
  [[nodiscard]] std::string log() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace zklock::testing
