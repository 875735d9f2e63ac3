// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/side.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::differential {

/// The simulated ensemble; each script has a new one. A client that replaces a closed one is a
/// further client of the world.
class SimSide final : public Side {
 public:
  explicit SimSide(model::ExistsRule exists_rule) : exists_rule_(exists_rule) {}

  void begin(const Script& script) override;
  void end() override {}
  Coordinator& coordinator(std::size_t client) override { return current(client); }
  bool settle() override;
  void close(std::size_t client) override;
  void expire(std::size_t client) override;
  void disconnect(std::size_t client) override { world_->disconnect(at_.at(client)); }
  void reconnect(std::size_t client) override { world_->reconnect(at_.at(client)); }
  Status create(const std::string& path, const std::string& data, std::int32_t everyone) override;
  Status set_data(const std::string& path, const std::string& data) override;
  Status set_acl(const std::string& path, std::int32_t everyone) override;
  Status remove(const std::string& path) override;
  std::vector<std::string> children(const std::string& path) override;

 private:
  model::SimCoordinator& current(std::size_t client) { return world_->client(at_.at(client)); }
  void start(std::size_t client);

  const model::ExistsRule exists_rule_;
  std::optional<model::World> world_;
  std::array<std::size_t, kClients> at_{};  ///< index of each client in the world
  std::size_t started_ = 0;
};

}  // namespace zklock::differential
