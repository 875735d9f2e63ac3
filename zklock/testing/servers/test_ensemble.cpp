// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/test_ensemble.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {

struct TestEnsemble::Impl {
  Impl(std::vector<TestServerOptions> options, Links kind);
  void make_links();
  std::string server_line(std::size_t member, std::size_t other) const;
  // Returns the mode of each member; nullopt if it is paused or does not serve.
  std::vector<std::optional<std::string>> modes() const;

  const FreePorts peer_ports;  // two per member: quorum, election
  // links[a][b] carries the connection of a to b while b leads. Empty if the links are direct.
  std::vector<std::vector<std::unique_ptr<FaultProxy>>> links;
  std::vector<std::unique_ptr<TestServer>> members;  // destroyed before their links
};

TestEnsemble::Impl::Impl(std::vector<TestServerOptions> options, Links kind)
    : peer_ports(2 * options.size()) {
  if (kind == Links::cuttable) make_links();
  for (std::size_t i = 0; i < options.size(); ++i) {
    // The caller's lines come last, so they take precedence. The high limits keep members connected
    // if a busy machine delays one of them for some seconds.
    std::vector<std::string> config = {"initLimit=40", "syncLimit=12"};
    for (std::size_t other = 0; other < options.size(); ++other) {
      config.push_back(server_line(i, other));
    }
    TestServerOptions& member = options[i];
    config.insert(config.end(), member.extra_config.begin(), member.extra_config.end());
    member.extra_config = std::move(config);
    member.my_id = static_cast<int>(i) + 1;
    members.push_back(std::make_unique<TestServer>(std::move(member)));
  }
}

void TestEnsemble::Impl::make_links() {
  const std::size_t size = peer_ports.size() / 2;
  for (std::size_t from = 0; from < size; ++from) {
    auto& row = links.emplace_back(size);
    for (std::size_t to = 0; to < size; ++to) {
      if (from == to) continue;
      row[to] = std::make_unique<FaultProxy>(std::vector<std::uint16_t>{peer_ports[2 * to]},
                                             FaultProxy::Protocol::bytes);
    }
  }
}

// Returns the line of the configuration of `member` that names `other`.
std::string TestEnsemble::Impl::server_line(std::size_t member, std::size_t other) const {
  const bool direct = links.empty() || member == other;
  const auto quorum = direct ? peer_ports[2 * other] : links[member][other]->port();
  return "server." + std::to_string(other + 1) + "=127.0.0.1:" + std::to_string(quorum) + ":" +
         std::to_string(peer_ports[2 * other + 1]);
}

std::vector<std::optional<std::string>> TestEnsemble::Impl::modes() const {
  std::vector<std::optional<std::string>> result;
  for (const auto& member : members) {
    const bool can_reply = member->is_running() && !member->is_paused();
    result.push_back(can_reply ? member->mode() : std::nullopt);
  }
  return result;
}

TestEnsemble::TestEnsemble(const TestServerOptions& options, std::size_t size, Links links)
    : TestEnsemble(std::vector(size, options), links) {}

TestEnsemble::TestEnsemble(std::vector<TestServerOptions> options, Links links)
    : impl_(std::make_unique<Impl>(std::move(options), links)) {}

TestEnsemble::~TestEnsemble() = default;

void TestEnsemble::start() {
  for (const auto& member : impl_->members) member->start();
}

void TestEnsemble::stop() {
  for (const auto& member : impl_->members) member->stop();
}

bool TestEnsemble::wait_until_serving(std::chrono::milliseconds timeout) const {
  return eventually(
      [this] {
        const auto now = impl_->modes();
        for (std::size_t i = 0; i < size(); ++i) {
          const TestServer& member = (*this)[i];
          if (member.is_running() && !member.is_paused() && !now[i]) return false;
        }
        return std::count(now.begin(), now.end(), "leader") == 1;
      },
      timeout, std::chrono::milliseconds(20));
}

void TestEnsemble::isolate(std::size_t member) {
  if (impl_->links.empty()) throw std::logic_error("isolate: the links are not cuttable");
  for (std::size_t other = 0; other < size(); ++other) {
    if (other == member) continue;
    impl_->links.at(member).at(other)->cut();
    impl_->links.at(other).at(member)->cut();
  }
}

void TestEnsemble::rejoin() {
  for (const auto& row : impl_->links) {
    for (const auto& link : row) {
      if (link) link->mend();
    }
  }
}

std::size_t TestEnsemble::size() const noexcept {
  return impl_->members.size();
}

TestServer& TestEnsemble::operator[](std::size_t index) {
  return *impl_->members.at(index);
}

const TestServer& TestEnsemble::operator[](std::size_t index) const {
  return *impl_->members.at(index);
}

std::optional<std::size_t> TestEnsemble::leader() const {
  const auto now = impl_->modes();
  if (std::count(now.begin(), now.end(), "leader") != 1) return std::nullopt;
  return static_cast<std::size_t>(std::find(now.begin(), now.end(), "leader") - now.begin());
}

std::vector<std::size_t> TestEnsemble::followers() const {
  const auto now = impl_->modes();
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == "follower") found.push_back(i);
  }
  return found;
}

std::string TestEnsemble::hosts() const {
  std::string result;
  for (const auto& member : impl_->members) {
    if (!result.empty()) result += ',';
    result += member->hosts();
  }
  return result;
}

std::string TestEnsemble::log() const {
  std::string result;
  for (std::size_t i = 0; i < size(); ++i) {
    result += "--- member " + std::to_string(i) + "\n" + (*this)[i].log();
  }
  return result;
}

}  // namespace zklock::testing
