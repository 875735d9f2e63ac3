// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/drained_log.h"
#include "support/raw_client.h"
#include "tests/differential/side.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/test_server.h"

namespace zklock::differential {

/// A real server. Its clients are used for all scripts, because connecting is slow.
class RealSide final : public Side {
 public:
  /// `ends[n]`: how many scripts may have a counter that is n below its end.
  explicit RealSide(const std::array<std::size_t, 3>& ends);
  ~RealSide() override;

  /// Returns the server's rule for exists, by the reply to one. The version does not show it: a
  /// packager can change the rule of a release.
  model::ExistsRule exists_rule();
  /// Returns false if no directory with such a counter is left.
  bool can_begin(const Script& script) const;
  void begin(const Script& script) override;
  void end() override;
  Coordinator& coordinator(std::size_t client) override { return *clients_.at(client).coordinator; }
  bool settle() override { return journal_.wait_for_replies(); }
  void close(std::size_t client) override;
  void expire(std::size_t client) override;
  void disconnect(std::size_t client) override;
  void reconnect(std::size_t client) override;
  Status create(const std::string& path, const std::string& data, std::int32_t everyone) override;
  Status set_data(const std::string& path, const std::string& data) override;
  Status set_acl(const std::string& path, std::int32_t everyone) override;
  Status remove(const std::string& path) override;
  std::vector<std::string> children(const std::string& path) override;

 private:
  struct Client {
    std::unique_ptr<testing::FaultProxy> proxy;
    std::unique_ptr<client::DrainedLog> log;
    std::shared_ptr<Coordinator> coordinator;
    std::string sign_of_life;  ///< an ephemeral znode of its session
  };
  void make_end_directories(const std::array<std::size_t, 3>& ends);
  void start_server();
  void connect_operator();
  void connect(std::size_t client);
  void make_sign_of_life(std::size_t client);

  testing::TestServer server_;
  std::array<std::vector<std::string>, 3> end_directories_;  ///< by distance to the end
  std::unique_ptr<testing::RawClient> operator_;
  std::array<Client, kClients> clients_;
  std::uint64_t made_ = 0;  ///< count of directories and signs of life
};

}  // namespace zklock::differential
