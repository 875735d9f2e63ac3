// SPDX-License-Identifier: Apache-2.0
#include "chaos/ensemble.h"

#include <algorithm>
#include <utility>

#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

using testing::ZooKeeperOptions;
using testing::ZooKeeperServer;

using namespace std::chrono_literals;

// The syncLimit: how long an isolated member still serves reads and answers pings.
constexpr auto kSlowToNotice = 12s;
constexpr auto kQuickToNotice = 6s;
constexpr auto kInitLimit = 10s;

std::string in_ticks(const char* name, std::chrono::milliseconds length,
                     std::chrono::milliseconds tick) {
  return std::string(name) + '=' + std::to_string(length / tick);
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
    : settings_(std::move(settings)), peer_ports_(2 * kSize) {
  for (std::size_t from = 0; from < kSize; ++from) {
    for (std::size_t to = 0; to < kSize; ++to) {
      if (from == to) continue;
      links_[from][to] = std::make_unique<testing::FaultProxy>(
          std::vector{peer_ports_[2 * to]}, testing::FaultProxy::Protocol::bytes);
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) members_[i] = make_member(i);
}

std::unique_ptr<ZooKeeperServer> Ensemble::make_member(std::size_t index) const {
  ZooKeeperOptions options;
  options.my_id = static_cast<int>(index) + 1;
  const auto tick = settings_.tick_time;
  options.tick_time = tick;
  options.min_session_timeout = 2 * tick;
  options.max_session_timeout = settings_.max_session_timeout.at(index);
  options.extra_config = {in_ticks("initLimit", kInitLimit, tick),
                          in_ticks("syncLimit", index == 0 ? kSlowToNotice : kQuickToNotice, tick)};
  for (std::size_t other = 0; other < kSize; ++other) {
    const auto quorum = other == index ? peer_ports_[2 * other] : links_[index][other]->port();
    options.extra_config.push_back("server." + std::to_string(other + 1) +
                                   "=127.0.0.1:" + std::to_string(quorum) + ":" +
                                   std::to_string(peer_ports_[2 * other + 1]));
  }
  return std::make_unique<ZooKeeperServer>(options);
}

void Ensemble::start() {
  for (const auto& member : members_) member->start();
}

bool Ensemble::wait_until_serving(std::chrono::milliseconds timeout) {
  return testing::eventually(
      [this] {
        std::size_t leaders = 0;
        for (const auto& member : members_) {
          if (!member->running() || member->paused()) continue;
          const auto mode = member->mode();
          if (!mode) return false;
          if (*mode == "leader") ++leaders;
        }
        return leaders == 1;
      },
      timeout, std::chrono::milliseconds(50));
}

std::optional<std::size_t> Ensemble::leader() const {
  for (std::size_t i = 0; i < kSize; ++i) {
    if (members_[i]->mode() == "leader") return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> Ensemble::follower(unsigned choice) const {
  std::vector<std::size_t> followers;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (members_[i]->mode() == "follower") followers.push_back(i);
  }
  if (followers.empty()) return std::nullopt;
  return followers[choice % followers.size()];
}

void Ensemble::cut_off(std::size_t member) {
  for (std::size_t other = 0; other < kSize; ++other) {
    if (other == member) continue;
    links_[member][other]->cut();
    links_[other][member]->cut();
  }
}

void Ensemble::mend() {
  for (const auto& from : links_) {
    for (const auto& link : from) {
      if (link) link->mend();
    }
  }
}

std::vector<std::uint16_t> Ensemble::ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& member : members_) ports.push_back(member->port());
  return ports;
}

std::string Ensemble::hosts() const {
  std::string hosts;
  for (const auto& member : members_) hosts += (hosts.empty() ? "" : ",") + member->hosts();
  return hosts;
}

std::string Ensemble::log() const {
  std::string log;
  for (const auto& member : members_) log += "--- a server\n" + member->log();
  return log;
}

}  // namespace zklock::chaos
