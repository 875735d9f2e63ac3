// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/environments.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "conformance/suite/ensembles.h"
#include "support/raw_client.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {

namespace {

void check(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what);
}

[[noreturn]] void lacks(const char* what) {
  throw std::logic_error(std::string("this environment has no ") + what);
}

}  // namespace

// ---- all environments ---------------------------------------------------------------------------------

void SuiteEnvironment::stop_servers() {
  lacks("servers that may stop");
}

void SuiteEnvironment::start_servers() {
  lacks("servers that may stop");
}

void SuiteEnvironment::pass(core::Duration) {
  lacks("time of its own");
}

void SuiteEnvironment::lose_reply_to_create(Client&) {
  lacks("replies that may be lost");
}

Client& SuiteEnvironment::connect_with(const std::function<void(ClientOptions&)>&) {
  lacks("clients with such options");
}

Client& SuiteEnvironment::connect_slowly(std::chrono::milliseconds) {
  lacks("network that may be slow");
}

RawClient& SuiteEnvironment::raw() {
  lacks("real servers");
}

const char* name_of(EnvironmentKind environment) {
  switch (environment) {
    case EnvironmentKind::servers:
    case EnvironmentKind::restartable_servers: return "OnServers";
    case EnvironmentKind::simulation: return "OnSimulation";
    case EnvironmentKind::racing_simulation: return "OnRacingSimulation";
  }
  return "?";
}

std::unique_ptr<SuiteEnvironment> make_environment(EnvironmentKind environment, bool on_ensembles) {
  if (on_ensembles) {
    return std::make_unique<Ensembles>(
        [environment] { return make_environment(environment, false); });
  }
  switch (environment) {
    case EnvironmentKind::servers: return std::make_unique<RealEnvironment>();
    case EnvironmentKind::restartable_servers: return std::make_unique<RestartableEnvironment>();
    case EnvironmentKind::simulation: return std::make_unique<SimulatedEnvironment>();
    case EnvironmentKind::racing_simulation: return std::make_unique<RacingEnvironment>();
  }
  return nullptr;
}

// ---- on one ensemble ----------------------------------------------------------------------------

Client& SingleEnvironment::keep(std::unique_ptr<Client> client) {
  clients_.push_back(std::move(client));
  return *clients_.back();
}

bool SingleEnvironment::all_connected() const {
  return std::ranges::all_of(clients_, [](const auto& c) { return c->is_connected(); });
}

bool SingleEnvironment::all_idle() const {
  return std::ranges::all_of(clients_, [](const auto& client) {
    zklock::detail::ClientCore& core = *zklock::detail::ClientCore::of(*client);
    if (core.closed()) return true;
    const zklock::detail::EngineLock lock({core});
    return core.work().is_idle() && !core.keeper().is_used();
  });
}

void SingleEnvironment::close_all() {
  clients_.clear();
}

std::vector<std::string> SingleEnvironment::in_order(std::vector<std::string> names) {
  constexpr std::size_t kDigits = 10;
  std::erase(names, "count");
  names = without_hold_markers(std::move(names));
  std::ranges::sort(names, {}, [](const std::string& name) {
    return name.size() < kDigits ? name : name.substr(name.size() - kDigits);
  });
  return names;
}

// ---- real servers -------------------------------------------------------------------------------

Client& RealEnvironment::connect(std::chrono::milliseconds session_timeout) {
  return connect_with([&](ClientOptions& edited) { edited.session_timeout = session_timeout; });
}

Client& RealEnvironment::connect_with(const std::function<void(ClientOptions&)>& edit) {
  ClientOptions edited = client_options();
  edit(edited);
  return keep(Realm::connect(edited));
}

Client& RealEnvironment::connect_slowly(std::chrono::milliseconds delay) {
  if (server_ == nullptr) return connect(SuiteEnvironment::kSessionTimeout);
  FaultProxy& slow = slow_networks_.emplace_back(std::vector{server_->port()});
  slow.delay(delay);
  return connect_with([&](ClientOptions& edited) { edited.hosts = hosts_by(slow); });
}

void RealEnvironment::create(const std::string& path) {
  check(raw().create(path).rc == ZOK, "create " + path);
}

std::string RealEnvironment::enqueue(const std::string& prefix) {
  static_cast<void>(raw().create(kPath));
  const auto made = raw().create(kPath + "/" + prefix, "10.0.0.1", ZOO_SEQUENCE);
  check(made.rc == ZOK, "enqueue " + prefix);
  return made.path;
}

void RealEnvironment::change(const std::string& node) {
  check(raw().set_data(node, "released").rc == ZOK, "change " + node);
}

void RealEnvironment::remove(const std::string& node) {
  check(raw().delete_node(node) == ZOK, "remove " + node);
}

void RealEnvironment::remove_all(const std::string& path) {
  check(raw().delete_recursive(path) == ZOK, "remove all of " + path);
}

void RealEnvironment::expire(Client& client) {
  expire_session(chroot_.hosts(), client.session_id());
}

void RealEnvironment::add_ephemerals(const std::string& path, std::string& names) {
  for (const std::string& child : raw().children(path).names) {
    const std::string below = (path == "/" ? "" : path) + "/" + child;
    const auto node = raw().exists(below);
    if (node.rc == ZOK && node.stat.ephemeralOwner != 0) names += " node " + below;
    add_ephemerals(below, names);
  }
}

::testing::AssertionResult RealEnvironment::nothing_left() {
  for (const auto& client : clients()) {
    if (!client->flush(kTestTimeout)) return ::testing::AssertionFailure() << "work is not done";
  }
  std::string names;
  const auto no_nodes = [&] {
    names.clear();
    add_ephemerals("/", names);
    return names.empty();
  };
  if (!comes(no_nodes)) return ::testing::AssertionFailure() << "left:" << names;
  const auto no_watches = [&] { return server_ == nullptr || !watched(*server_, "/"); };
  if (!comes(no_watches)) {
    return ::testing::AssertionFailure() << "watches: " << query_server(*server_, "wchp");
  }
  if (!comes([&] { return all_idle(); }))
    return ::testing::AssertionFailure() << "a member is left";
  return ::testing::AssertionSuccess();
}

// ---- a real server that may be killed -----------------------------------------------------------

ClientOptions RestartableEnvironment::client_options() const {
  ClientOptions by_door = RealEnvironment::client_options();
  by_door.hosts = hosts_by(door_);
  return by_door;
}

void RestartableEnvironment::stop_servers() {
  if (server()->is_running()) server()->kill();
  door_.refuse();
  check(comes([&] {
          return std::ranges::none_of(clients(), [](const auto& c) { return c->is_connected(); });
        }),
        "clients have not noticed the server's death");
}

void RestartableEnvironment::start_servers() {
  start_behind(door_, *server());
  check(comes([&] { return all_connected(); }), "clients have not come back");
  connect_raw_again();  // its connection broke too
}

// ---- the simulation -----------------------------------------------------------------------------

bool SimulatedEnvironment::comes(const Fact& fact) const {
  return eventually(
      [&] {
        fake_.settle();
        return fact();
      },
      kTestTimeout, std::chrono::milliseconds(1));
}

Client& SimulatedEnvironment::connect(std::chrono::milliseconds session_timeout) {
  ClientOptions options;
  options.session_timeout = session_timeout;
  options.application = "conformance";
  return keep(fake_.client(std::move(options)));
}

void SimulatedEnvironment::lose_reply_to_create(Client& client) {
  fake_.link(client).lose_reply(RequestKind::create);
}

std::vector<std::string> SimulatedEnvironment::nodes(const std::string& path) {
  fake_.settle();
  return in_order(fake_.children(path));
}

bool SimulatedEnvironment::exists(const std::string& node) {
  fake_.settle();
  return fake_.data(node).has_value();
}

void SimulatedEnvironment::create(const std::string& path) {
  check(fake_.create(path), "create " + path);
}

std::string SimulatedEnvironment::enqueue(const std::string& prefix) {
  static_cast<void>(fake_.create(kPath));
  return fake_.create_sequential(kPath + "/" + prefix, "10.0.0.1").value();
}

void SimulatedEnvironment::change(const std::string& node) {
  check(fake_.set_data(node, "released"), "change " + node);
}

void SimulatedEnvironment::remove(const std::string& node) {
  check(fake_.remove(node), "remove " + node);
}

void SimulatedEnvironment::remove_all(const std::string& path) {
  for (const std::string& child : fake_.children(path)) remove_all(path + "/" + child);
  // A contender that loses its znode enqueues again, so the parent may not be empty.
  static_cast<void>(fake_.remove(path));
}

void SimulatedEnvironment::start_servers() {
  fake_.start_servers();
  check(all_connected(), "clients have not come back");
}

::testing::AssertionResult SimulatedEnvironment::nothing_left() {
  const auto nothing = [&] { return fake_.leftovers().empty() && all_idle(); };
  // Long enough for every pause and retry.
  if (comes_in_time(nothing)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "left: " << fake_.leftovers() << (all_idle() ? "" : "work");
}

}  // namespace zklock::testing
