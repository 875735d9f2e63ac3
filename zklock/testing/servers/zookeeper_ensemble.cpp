// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/zookeeper_ensemble.h"

#include <algorithm>

#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {

ZooKeeperEnsemble::ZooKeeperEnsemble(const ZooKeeperOptions& options, std::size_t size)
    : peer_ports_(2 * size) {
  // The caller's lines come last, so they take precedence. The high limits keep members connected
  // if a busy machine delays one of them for some seconds.
  std::vector<std::string> config = {"initLimit=40", "syncLimit=12"};
  for (std::size_t i = 0; i < size; ++i) {
    config.push_back("server." + std::to_string(i + 1) +
                     "=127.0.0.1:" + std::to_string(peer_ports_[2 * i]) + ":" +
                     std::to_string(peer_ports_[2 * i + 1]));
  }
  config.insert(config.end(), options.extra_config.begin(), options.extra_config.end());
  for (std::size_t i = 0; i < size; ++i) {
    ZooKeeperOptions member = options;
    member.extra_config = config;
    member.my_id = static_cast<int>(i) + 1;
    members_.push_back(std::make_unique<ZooKeeperServer>(std::move(member)));
  }
}

void ZooKeeperEnsemble::start() {
  for (const auto& member : members_) member->start();
}

void ZooKeeperEnsemble::stop() {
  for (const auto& member : members_) member->stop();
}

std::vector<std::optional<std::string>> ZooKeeperEnsemble::modes() const {
  std::vector<std::optional<std::string>> result;
  for (const auto& member : members_) {
    const bool can_reply = member->running() && !member->paused();
    result.push_back(can_reply ? member->mode() : std::nullopt);
  }
  return result;
}

bool ZooKeeperEnsemble::wait_until_serving(std::chrono::milliseconds timeout) const {
  return eventually(
      [this] {
        const auto now = modes();
        for (std::size_t i = 0; i < members_.size(); ++i) {
          const bool expected = members_[i]->running() && !members_[i]->paused();
          if (expected && !now[i]) return false;
        }
        return std::count(now.begin(), now.end(), "leader") == 1;
      },
      timeout, std::chrono::milliseconds(20));
}

std::optional<std::size_t> ZooKeeperEnsemble::leader() const {
  const auto now = modes();
  if (std::count(now.begin(), now.end(), "leader") != 1) return std::nullopt;
  return static_cast<std::size_t>(std::find(now.begin(), now.end(), "leader") - now.begin());
}

std::optional<std::size_t> ZooKeeperEnsemble::follower() const {
  const auto now = modes();
  const auto found = std::find(now.begin(), now.end(), "follower");
  if (found == now.end()) return std::nullopt;
  return static_cast<std::size_t>(found - now.begin());
}

std::string ZooKeeperEnsemble::hosts() const {
  std::string result;
  for (const auto& member : members_) {
    if (!result.empty()) result += ',';
    result += member->hosts();
  }
  return result;
}

std::string ZooKeeperEnsemble::log() const {
  std::string result;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    result += "--- member " + std::to_string(i) + "\n" + members_[i]->log();
  }
  return result;
}

}  // namespace zklock::testing
