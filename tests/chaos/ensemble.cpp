// SPDX-License-Identifier: Apache-2.0
#include "chaos/ensemble.h"

#include <utility>

namespace zklock::chaos {
namespace {

using testing::TestServerOptions;

using namespace std::chrono_literals;

// The syncLimit: how long an isolated member still serves reads and answers pings.
constexpr auto kSlowToNotice = 12s;
constexpr auto kQuickToNotice = 6s;
constexpr auto kInitLimit = 10s;

std::string in_ticks(const char* name, std::chrono::milliseconds length,
                     std::chrono::milliseconds tick) {
  return std::string(name) + '=' + std::to_string(length / tick);
}

std::vector<TestServerOptions> options_of(const ServerSettings& settings) {
  const auto tick = settings.tick_time;
  std::vector<TestServerOptions> all;
  for (const auto longest : settings.max_session_timeout) {
    TestServerOptions options;
    options.tick_time = tick;
    options.min_session_timeout = 2 * tick;
    options.max_session_timeout = longest;
    options.extra_config = {
        in_ticks("initLimit", kInitLimit, tick),
        in_ticks("syncLimit", all.empty() ? kSlowToNotice : kQuickToNotice, tick)};
    all.push_back(std::move(options));
  }
  return all;
}

}  // namespace

ServerSettings ServerSettings::of_seed(std::uint64_t seed) {
  switch (seed % 3) {
    case 0:
      return {.name = "tickTime = T/2",
              .tick_time = 2s,
              .max_session_timeout = {60s, 60s, 60s},
              .session_timeout = 4s,
              .timeout_step = 0s};
    case 1:
      return {.name = "small ticks",
              .tick_time = 500ms,
              .max_session_timeout = {60s, 60s, 60s},
              .session_timeout = 4s,
              .timeout_step = 500ms};
    default:
      // The shortest T is more than 2/3 of the longest. So a lease counted with the longest T ends
      // before a session that has the shortest. A lost answer to a handshake then stays within the
      // assumptions of the lease.
      return {.name = "different maxSessionTimeout",
              .tick_time = 500ms,
              .max_session_timeout = {5500ms, 4750ms, 4s},
              .session_timeout = 4s,
              .timeout_step = 500ms};
  }
}

Ensemble::Ensemble(ServerSettings settings)
    : TestEnsemble(options_of(settings), Links::cuttable), settings_(std::move(settings)) {}

std::optional<std::size_t> Ensemble::follower(unsigned choice) const {
  const auto all = followers();
  if (all.empty()) return std::nullopt;
  return all[choice % all.size()];
}

std::vector<std::uint16_t> Ensemble::ports() const {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < size(); ++i) ports.push_back((*this)[i].port());
  return ports;
}

}  // namespace zklock::chaos
