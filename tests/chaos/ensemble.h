// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/zookeeper_server.h"

namespace zklock::chaos {

// The configuration of the servers, and the session timeouts that the clients request.
struct ServerSettings {
  std::string name;
  std::chrono::milliseconds tick_time;
  std::array<std::chrono::milliseconds, 3> max_session_timeout;  // of each server
  std::chrono::milliseconds session_timeout;                     // the shortest one requested
  std::chrono::milliseconds timeout_step;  // added for each next client, modulo 4

  // Returns the settings for a seed. A third of the seeds have servers whose tickTime is half of
  // every session timeout. A third have servers with different values of maxSessionTimeout.
  static ServerSettings of_seed(std::uint64_t seed);
};

// Three real servers. Each reaches the leader through a proxy. So a member can be isolated from
// the others while its clients stay connected. The first member is slow to notice that.
//
// Thread-safety: that of ZooKeeperServer.
class Ensemble {
 public:
  static constexpr std::size_t kSize = 3;

  explicit Ensemble(ServerSettings settings);
  const ServerSettings& settings() const noexcept { return settings_; }

  void start();
  testing::ZooKeeperServer& operator[](std::size_t index) { return *members_.at(index); }

  // Waits until every running member serves and one of them leads.
  bool wait_until_serving(std::chrono::milliseconds timeout);
  std::optional<std::size_t> leader() const;
  // Returns one of the followers, chosen by `choice`; nullopt if there is none.
  std::optional<std::size_t> follower(unsigned choice) const;

  // From now on no data pass between the member and the others, in either direction.
  void cut_off(std::size_t member);
  void mend();

  std::vector<std::uint16_t> ports() const;
  // Returns addresses that bypass all proxies. The chroot is not included.
  std::string hosts() const;
  std::string log() const;

 private:
  std::unique_ptr<testing::ZooKeeperServer> make_member(std::size_t index) const;

  const ServerSettings settings_;
  const testing::FreePorts peer_ports_;  // two of each member: quorum, election
  // links_[a][b] carries the connection of a to b while b leads.
  std::array<std::array<std::unique_ptr<testing::FaultProxy>, kSize>, kSize> links_;
  std::array<std::unique_ptr<testing::ZooKeeperServer>, kSize> members_;
};

}  // namespace zklock::chaos
