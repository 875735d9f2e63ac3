// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/stages.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "conformance/suite/ensembles.h"
#include "support/expire_session.h"
#include "zklock/engine/client_core.h"

namespace zklock::testing {

namespace {

constexpr std::size_t kMostClients = 6;

model::ClientOptions simulated_clients() {
  return {.session_timeout = Stage::kSessionTimeout};
}

void check(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what);
}

[[noreturn]] void lacks(const char* what) {
  throw std::logic_error(std::string("this stage has no ") + what);
}

}  // namespace

// ---- all stages ---------------------------------------------------------------------------------

bool Stage::comes_in_time(const Fact& fact) {
  return comes([&] {
    if (fact()) return true;
    let_time_pass();
    return false;
  });
}

void Stage::stop_servers() {
  lacks("servers that may stop");
}

void Stage::start_servers() {
  lacks("servers that may stop");
}

void Stage::pass(core::Duration) {
  lacks("time of its own");
}

void Stage::lose_reply_to_create(Client&) {
  lacks("replies that may be lost");
}

Client& Stage::connect_with(const std::function<void(ClientOptions&)>&) {
  lacks("clients with such options");
}

Client& Stage::connect_slowly(std::chrono::milliseconds) {
  lacks("network that may be slow");
}

RawClient& Stage::raw() {
  lacks("real servers");
}

const char* name_of(Scene scene) {
  switch (scene) {
    case Scene::servers:
    case Scene::mortal_servers: return "OnServers";
    case Scene::simulation: return "OnSimulation";
  }
  return "?";
}

std::unique_ptr<Stage> make_stage(Scene scene, bool on_ensembles) {
  if (on_ensembles) {
    return std::make_unique<Ensembles>([scene] { return make_stage(scene, false); });
  }
  switch (scene) {
    case Scene::servers: return std::make_unique<RealStage>();
    case Scene::mortal_servers: return std::make_unique<MortalStage>();
    case Scene::simulation: return std::make_unique<FakeStage>();
  }
  return nullptr;
}

// ---- on one ensemble ----------------------------------------------------------------------------

Client& SingleStage::keep(std::unique_ptr<Client> client) {
  clients_.push_back(std::move(client));
  return *clients_.back();
}

bool SingleStage::all_connected() const {
  return std::ranges::all_of(clients_, [](const auto& c) { return c->is_connected(); });
}

bool SingleStage::all_idle() const {
  return std::ranges::all_of(clients_, [](const auto& client) {
    detail::ClientCore& core = *detail::ClientCore::of(*client);
    return core.closed() || (core.work().idle() && core.keeper().deserted());
  });
}

void SingleStage::close_all() {
  clients_.clear();
}

std::vector<std::string> SingleStage::in_order(std::vector<std::string> names) {
  constexpr std::size_t digits = 10;
  std::erase(names, "count");
  std::ranges::sort(names, {}, [](const std::string& name) {
    return name.size() < digits ? name : name.substr(name.size() - digits);
  });
  return names;
}

// ---- real servers -------------------------------------------------------------------------------

Client& RealStage::connect(std::chrono::milliseconds session_timeout) {
  return connect_with([&](ClientOptions& edited) { edited.session_timeout = session_timeout; });
}

Client& RealStage::connect_with(const std::function<void(ClientOptions&)>& edit) {
  ClientOptions edited = options();
  edit(edited);
  return keep(Realm::connect(edited));
}

Client& RealStage::connect_slowly(std::chrono::milliseconds delay) {
  if (server_ == nullptr) return connect(Stage::kSessionTimeout);
  const Forwarder& slow =
      forwarders_.emplace_back(server_->port(), Forwarder::Events::passed, delay);
  return connect_with([&](ClientOptions& edited) {
    edited.hosts = "127.0.0.1:" + std::to_string(slow.port()) + chroot_.path();
  });
}

void RealStage::create(const std::string& path) {
  check(raw().create(path).rc == ZOK, "create " + path);
}

std::string RealStage::enqueue(const std::string& prefix) {
  static_cast<void>(raw().create(kPath));
  const auto made = raw().create(kPath + "/" + prefix, "10.0.0.1", ZOO_SEQUENCE);
  check(made.rc == ZOK, "enqueue " + prefix);
  return made.path;
}

void RealStage::change(const std::string& node) {
  check(raw().set_data(node, "released").rc == ZOK, "change " + node);
}

void RealStage::remove(const std::string& node) {
  check(raw().delete_node(node) == ZOK, "remove " + node);
}

void RealStage::remove_all(const std::string& path) {
  check(raw().delete_recursive(path) == ZOK, "remove all of " + path);
}

void RealStage::expire(Client& client) {
  expire_session(chroot_.hosts(), client.session_id());
}

void RealStage::add_ephemerals(const std::string& path, std::string& names) {
  for (const std::string& child : raw().children(path).names) {
    const std::string below = (path == "/" ? "" : path) + "/" + child;
    const auto node = raw().exists(below);
    if (node.rc == ZOK && node.stat.ephemeralOwner != 0) names += " node " + below;
    add_ephemerals(below, names);
  }
}

::testing::AssertionResult RealStage::nothing_left() {
  for (const auto& client : clients()) {
    if (!client->flush(kPatience)) return ::testing::AssertionFailure() << "work is not done";
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
    return ::testing::AssertionFailure() << "watches: " << ask_server(*server_, "wchp");
  }
  if (!comes([&] { return all_idle(); }))
    return ::testing::AssertionFailure() << "a member is left";
  return ::testing::AssertionSuccess();
}

// ---- a real server that may be killed -----------------------------------------------------------

namespace {

// Started by the first test that needs it.
class MortalServer : public ::testing::Environment {
 public:
  ZooKeeperServer& get() {
    if (!started_) started_ = std::make_unique<StartedServer>();
    return started_->server_;
  }
  void TearDown() override { started_.reset(); }

 private:
  std::unique_ptr<StartedServer> started_;
};

// GoogleTest owns it.
MortalServer& mortal_server() {
  static auto* const server = new MortalServer();
  return *server;
}
[[maybe_unused]] const auto* const kRegistered =
    ::testing::AddGlobalTestEnvironment(&mortal_server());

}  // namespace

MortalStage::MortalStage() : RealStage(mortal_server().get().hosts(), &mortal_server().get()) {}

void MortalStage::stop_servers() {
  if (server()->running()) server()->kill_hard();
  check(comes([&] {
          return std::ranges::none_of(clients(), [](const auto& c) { return c->is_connected(); });
        }),
        "clients have not noticed the server's death");
}

void MortalStage::start_servers() {
  start_until(*server(), [&] { return all_connected(); });
  connect_raw_again();  // its connection broke too
}

// ---- the simulation -----------------------------------------------------------------------------

FakeStage::FakeStage() : live_(kMostClients, simulated_clients()) {}

Client& FakeStage::connect(std::chrono::milliseconds session_timeout) {
  const std::size_t c = clients().size();
  check(c < kMostClients, "too many clients");
  live_.with([&](model::World& w) { w.client(c).options().session_timeout = session_timeout; });
  Client& client = keep(ClientFactory::make(detail::ClientCore::make(
      live_.ports(c),
      {.hosts = "sim", .application = "conformance", .host = "host", .logger = nullptr})));
  check(client.wait_until_connected(kPatience), "not connected");
  return client;
}

void FakeStage::lose_reply_to_create(Client& client) {
  const std::size_t c = index_of(client);
  live_.with([&](model::World& w) { w.lose_reply(c, model::OperationKind::create_contender); });
}

std::vector<std::string> FakeStage::nodes(const std::string& path) {
  return live_.with([&](model::World& w) {
    const model::Node* parent = w.ensemble().find(path);
    return in_order(parent == nullptr ? std::vector<std::string>() : parent->children);
  });
}

bool FakeStage::exists(const std::string& node) {
  return live_.with([&](model::World& w) { return w.ensemble().find(node) != nullptr; });
}

void FakeStage::create(const std::string& path) {
  live_.with([&](model::World& w) {
    check(w.ensemble().create(path) == core::Status::ok, "create " + path);
  });
}

std::string FakeStage::enqueue(const std::string& prefix) {
  return live_.with([&](model::World& w) {
    static_cast<void>(w.ensemble().create(kPath));
    return kPath + "/" + w.ensemble().create_sequential(kPath, prefix, "10.0.0.1").value();
  });
}

void FakeStage::change(const std::string& node) {
  live_.with([&](model::World& w) {
    check(w.ensemble().set_data(node, "released") == core::Status::ok, "change " + node);
  });
}

void FakeStage::remove(const std::string& node) {
  live_.with([&](model::World& w) {
    check(w.ensemble().remove(node) == core::Status::ok, "remove " + node);
  });
}

void FakeStage::remove_all(const std::string& path) {
  const auto children = live_.with([&](model::World& w) {
    const model::Node* parent = w.ensemble().find(path);
    return parent == nullptr ? std::vector<std::string>() : parent->children;
  });
  for (const std::string& child : children) remove_all(path + "/" + child);
  // A contender that loses its znode enqueues again, so the parent may not be empty.
  live_.with([&](model::World& w) { static_cast<void>(w.ensemble().remove(path)); });
}

void FakeStage::expire(Client& client) {
  const std::size_t c = index_of(client);
  live_.with([&](model::World& w) { w.expire(c); });
}

void FakeStage::stop_servers() {
  live_.with([&](model::World& w) {
    for (std::size_t c = 0; c < clients().size(); ++c) w.disconnect(c);
  });
}

void FakeStage::start_servers() {
  live_.with([&](model::World& w) {
    w.restart_servers();
    for (std::size_t c = 0; c < clients().size(); ++c) w.reconnect(c);
  });
  check(comes([&] { return all_connected(); }), "clients have not come back");
}

std::size_t FakeStage::index_of(const Client& client) const {
  const auto found = std::ranges::find(clients(), &client, &std::unique_ptr<Client>::get);
  check(found != clients().end(), "not a client of this stage");
  return static_cast<std::size_t>(found - clients().begin());
}

std::string FakeStage::remains() {
  return live_.with([&](model::World& w) {
    std::string names;
    for (const auto& [path, node] : w.ensemble().tree().nodes()) {
      if (node.owner != model::SessionId{}) names += " node " + path;
    }
    for (std::size_t c = 0; c < clients().size(); ++c) {
      if (w.client(c).server_watches() != 0) names += " a watch of client " + std::to_string(c);
      if (w.client(c).live_interests() != 0) names += " an interest of " + std::to_string(c);
      if (w.client(c).unanswered() != 0) names += " a request of " + std::to_string(c);
    }
    return names;
  });
}

::testing::AssertionResult FakeStage::nothing_left() {
  std::string names;
  const auto nothing = [&] {
    names = remains();
    return names.empty() && all_idle();
  };
  // Long enough for every pause and retry.
  if (comes_in_time(nothing)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "left:" << names << (all_idle() ? "" : " work");
}

}  // namespace zklock::testing
