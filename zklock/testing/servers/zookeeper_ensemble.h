// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/zookeeper_server.h"

namespace zklock::testing {

// Real ZooKeeper servers that form one quorum, each with the controls of ZooKeeperServer. Members
// count from 0. Thread-safety: that of ZooKeeperServer.
class ZooKeeperEnsemble {
 public:
  // `options` applies to every member; its my_id is ignored.
  explicit ZooKeeperEnsemble(const ZooKeeperOptions& options = {}, std::size_t size = 3);

  // Start or stop all members; start() does not wait until they serve.
  void start();
  void stop();

  std::size_t size() const noexcept { return members_.size(); }
  ZooKeeperServer& operator[](std::size_t index) { return *members_.at(index); }
  const ZooKeeperServer& operator[](std::size_t index) const { return *members_.at(index); }

  // Waits until every running, unpaused member serves, and exactly one of them leads.
  [[nodiscard]] bool wait_until_serving(
      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;

  // Returns the member that serves as leader. Returns nullopt if there is none, or if two claim it.
  // Paused members are not queried.
  std::optional<std::size_t> leader() const;
  // Returns the first member that serves as follower.
  std::optional<std::size_t> follower() const;

  // Returns the addresses of all members: "127.0.0.1:a,127.0.0.1:b,...".
  std::string hosts() const;
  // Returns the logs of all members, for a failure message.
  std::string log() const;

 private:
  // Returns the mode of each member; nullopt if it is paused or does not serve.
  std::vector<std::optional<std::string>> modes() const;

  FreePorts peer_ports_;  // two per member: quorum, election
  std::vector<std::unique_ptr<ZooKeeperServer>> members_;
};

}  // namespace zklock::testing
