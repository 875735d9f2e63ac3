// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/test_ensemble.h"

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

// Three real servers with these settings, each of which can be isolated. The first member is slow
// to notice that.
//
// Thread-safety: that of TestEnsemble.
class Ensemble : public testing::TestEnsemble {
 public:
  explicit Ensemble(ServerSettings settings);
  const ServerSettings& settings() const noexcept { return settings_; }

  // Returns one of the followers, chosen by `choice`; nullopt if there is none.
  std::optional<std::size_t> follower(unsigned choice) const;
  std::vector<std::uint16_t> ports() const;

 private:
  const ServerSettings settings_;
};

}  // namespace zklock::chaos
