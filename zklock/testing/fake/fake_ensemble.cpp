// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake_ensemble.h"

#include <algorithm>
#include <stdexcept>

#include "zklock/engine/client_core.h"
#include "zklock/testing/fake/fake_world.h"

namespace zklock::testing {

namespace {

using detail::FakeClient;
using detail::FakeServers;
using detail::FakeWorld;
using ServersPtr = std::shared_ptr<FakeServers>;

FakeWorld& fake() {
  return FakeWorld::instance();
}

/// Returns the first client of these servers for which `matches` returns true; null if there is
/// none. The result shares the universe.
template <class Matches>
std::shared_ptr<FakeClient> find_client(const ServersPtr& servers, Matches matches) {
  const auto universe = fake().universe();
  return fake().look([&]() -> std::shared_ptr<FakeClient> {
    for (FakeClient& client : universe->clients) {
      if (client.servers == servers && matches(client)) return {universe, &client};
    }
    return nullptr;
  });
}

/// Calls `act()` with the SimulationLock, and settles.
template <class Act>
void change(const ServersPtr& servers, Act act) {
  fake().with(fake().universe(), act);
  fake().settle_if_free(servers->rest_limit);
}

/// Calls `write()` with the SimulationLock, and settles. Returns whether the ensemble accepted the
/// write.
template <class Write>
bool change_node(const ServersPtr& servers, Write write) {
  core::Status status = core::Status::ok;
  change(servers, [&] { status = write(servers->ensemble); });
  return status == core::Status::ok;
}

void update_clients(const ServersPtr& servers) {
  for (FakeClient& client : servers->universe.clients) {
    if (client.servers == servers) client.update();
  }
}

}  // namespace

FakeEnsemble::FakeEnsemble(FakeEnsembleOptions options)
    : servers_(fake().begin(options.rest_limit)) {}

FakeEnsemble::~FakeEnsemble() {
  fake().end(servers_);
}

std::string FakeEnsemble::hosts() const {
  return servers_->hosts;
}

std::unique_ptr<Client> FakeEnsemble::client(ClientOptions options) {
  options.hosts = hosts();
  auto client = std::make_unique<Client>(std::move(options));
  settle();
  return client;
}

FakeLink FakeEnsemble::link(const Client& client) const {
  const client::Coordinator* const port = &zklock::detail::ClientCore::of(client)->coordinator();
  auto found = find_client(servers_, [port](const FakeClient& each) { return each.port == port; });
  if (!found) throw std::invalid_argument("FakeEnsemble::link: not a client of this ensemble");
  return FakeLink(std::move(found));
}

FakeLink FakeEnsemble::link(std::size_t index) const {
  auto found = find_client(servers_, [&index](const FakeClient&) { return index-- == 0; });
  if (!found) throw std::out_of_range("FakeEnsemble::link: there is no client with this number");
  return FakeLink(std::move(found));
}

// ---- time ---------------------------------------------------------------------------------------

LeaseClock::time_point FakeEnsemble::now() const noexcept {
  return fake().now();
}

void FakeEnsemble::settle() {
  fake().settle(servers_->rest_limit);
}

void FakeEnsemble::advance(LeaseClock::duration duration) {
  fake().advance(duration, servers_->rest_limit);
}

bool FakeEnsemble::advance_until(const std::function<bool()>& fact, LeaseClock::duration longest) {
  require_rest();
  const LeaseClock::time_point end = now() + longest;
  LeaseClock::time_point seen = fake().settle(servers_->rest_limit);
  while (!fact()) {
    if (!fake().step(seen, end, servers_->rest_limit)) return fact();
  }
  return true;
}

void FakeEnsemble::require_rest() const {
  if (servers_->rest_limit > std::chrono::milliseconds(0)) return;
  throw std::logic_error(
      "FakeEnsemble: without a rest_limit, time would pass before threads react");
}

// ---- servers and znodes -------------------------------------------------------------------------

void FakeEnsemble::stop_servers() {
  change(servers_, [this] {
    servers_->stopped = true;
    servers_->ensemble.lose_leader();  // so no session expires
    update_clients(servers_);
  });
}

void FakeEnsemble::start_servers() {
  change(servers_, [this] {
    if (!std::exchange(servers_->stopped, false)) return;
    servers_->ensemble.restart();
    update_clients(servers_);
  });
}

std::vector<std::string> FakeEnsemble::children(const std::string& path) const {
  return fake().look([&] {
    const model::Node* const node = servers_->ensemble.find(path);
    auto names = node == nullptr ? std::vector<std::string>() : node->children;
    std::ranges::sort(names);
    return names;
  });
}

std::optional<std::string> FakeEnsemble::data(const std::string& path) const {
  return fake().look([&]() -> std::optional<std::string> {
    const model::Node* const node = servers_->ensemble.find(path);
    if (node == nullptr) return std::nullopt;
    return node->data;
  });
}

bool FakeEnsemble::create(const std::string& path, std::string data) {
  return change_node(servers_, [&](model::SimEnsemble& ensemble) {
    for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
      static_cast<void>(ensemble.create(path.substr(0, end)));
    }
    return ensemble.create(path, std::move(data));
  });
}

std::optional<std::string> FakeEnsemble::create_sequential(const std::string& prefix,
                                                           std::string data) {
  const auto slash = prefix.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string parent = prefix.substr(0, std::max(slash, std::size_t{1}));
  std::optional<std::string> name;
  change(servers_, [&] {
    name = servers_->ensemble.create_sequential(parent, prefix.substr(slash + 1), std::move(data));
  });
  if (!name) return std::nullopt;
  return prefix.substr(0, slash + 1) + *name;
}

bool FakeEnsemble::set_data(const std::string& path, std::string data) {
  return change_node(servers_, [&](model::SimEnsemble& ensemble) {
    return ensemble.set_data(path, std::move(data));
  });
}

bool FakeEnsemble::remove(const std::string& path) {
  return change_node(servers_, [&](model::SimEnsemble& ensemble) { return ensemble.remove(path); });
}

std::string FakeEnsemble::leftovers() const {
  return fake().look([&] {
    std::string text;
    for (const auto& [path, node] : servers_->ensemble.tree().nodes()) {
      if (node.owner != model::SessionId{}) text += "znode " + path + "\n";
    }
    std::size_t index = 0;
    for (const FakeClient& client : servers_->universe.clients) {
      if (client.servers != servers_) continue;
      const std::string name = " of client " + std::to_string(index++) + "\n";
      if (client.coordinator.live_interests() != 0) text += "a watch" + name;
      if (client.coordinator.server_watches() != 0) text += "a server's watch" + name;
      if (client.coordinator.unanswered() != 0) text += "a request" + name;
    }
    return text;
  });
}

}  // namespace zklock::testing
