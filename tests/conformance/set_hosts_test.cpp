// SPDX-License-Identifier: Apache-2.0
// Client::set_hosts() while a lock is held, and a server that is moved by dynamic reconfiguration.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/super_digest.h"
#include "zklock/testing/test_ensemble.h"

namespace zklock::testing {
namespace {

// Each proxy is an address of one server. They differ only in the port, which the C client does not
// compare.
class SetHosts : public OwnServerTest {
 protected:
  std::unique_ptr<Client> client_at(const FaultProxy& proxy) const {
    ClientOptions settings = options();
    settings.hosts = hosts_by(proxy);
    return connect(settings);
  }

  FaultProxy old_{{server_.port()}};
  FaultProxy new_{{server_.port()}};
};

TEST_F(SetHosts, ServerReplaced_SessionAndHoldSurvive) {
  const auto client = client_at(old_);
  ReentrantMutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  const auto session = client->session_id();
  Chronicle<ConnectionState> states;
  const auto subscription = client->add_listener([&](ConnectionState state) { states.add(state); });

  client->set_hosts(hosts_by(new_));
  EXPECT_EQ(mutex.participants().size(), 1U);
  EXPECT_EQ(old_.connected_to(), 0U) << "a working server was left";
  old_.refuse();
  ASSERT_TRUE(states.has(ConnectionState::reconnected));
  EXPECT_EQ(new_.connected_to(), 0U);
  EXPECT_EQ(client->session_id(), session);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(states.all(), (std::vector{ConnectionState::suspended, ConnectionState::reconnected}));

  // And back, by a list that has as many addresses.
  old_.accept();
  client->set_hosts(hosts_by(old_));
  new_.refuse();
  ASSERT_TRUE(states.reaches(4));
  EXPECT_EQ(old_.connected_to(), 0U);
  EXPECT_EQ(client->session_id(), session);
  EXPECT_EQ(hold.state(), HoldState::held);
}

// The C client itself would leave its server with a probability of 12/13.
TEST_F(SetHosts, ServersAdded_ConnectionStays) {
  const auto client = client_at(old_);
  Chronicle<ConnectionState> states;
  const auto subscription = client->add_listener([&](ConnectionState state) { states.add(state); });
  std::string all = old_.hosts();
  for (int i = 0; i < 12; ++i) all += "," + new_.hosts();
  for (int i = 0; i < 20; ++i) {
    client->set_hosts(all + chroot_.path());
    client->set_hosts(hosts_by(old_));
  }
  ReentrantMutex mutex(*client, kPath);
  EXPECT_TRUE(static_cast<bool>(mutex.acquire()));
  EXPECT_EQ(states.size(), 0U);
  EXPECT_EQ(old_.connected_to(), 0U);
}

TEST_F(SetHosts, BeforeTheFirstConnection_ConnectsToTheNewServer) {
  old_.refuse();
  ClientOptions settings = options();
  settings.hosts = hosts_by(old_);
  Client client(settings);
  EXPECT_FALSE(client.wait_until_connected(200ms));
  client.set_hosts(hosts_by(new_));
  EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_EQ(new_.connected_to(), 0U);
}

TEST_F(SetHosts, BadList_ThrowsAndChangesNothing) {
  const auto client = client_at(old_);
  const auto refused = [&](const std::string& hosts) {
    return error_of([&] { client->set_hosts(hosts); });
  };
  EXPECT_EQ(error_text_of([&] { client->set_hosts(""); }),
            "set hosts: the connection string is empty [invalid_hosts]");
  EXPECT_EQ(refused("127.0.0.1" + chroot_.path()), Errc::invalid_hosts);
  EXPECT_EQ(refused(new_.hosts()), Errc::invalid_hosts) << "another chroot";
  EXPECT_EQ(refused(hosts_by(new_) + "/below"), Errc::invalid_hosts);
  old_.break_connections();
  EXPECT_TRUE(eventually([&] { return old_.connected_to() == 0U; }, kTestTimeout));
  EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
  EXPECT_EQ(new_.connected_to(), std::nullopt);
  client->set_hosts(hosts_by(new_));
  client->close();
  EXPECT_EQ(refused(hosts_by(new_)), Errc::closed);
  const std::string closed = error_text_of([&] { return client->wait_until_connected(0ms); });
  EXPECT_TRUE(closed.starts_with("connect " + hosts_by(new_) + ": ")) << closed;
}

// The name begins with Quorum, because the test starts four servers.
class QuorumReconfigured : public ::testing::Test {
 protected:
  QuorumReconfigured() : ensemble_({.extra_config = {"reconfigEnabled=true"}}) {
    ensemble_.start();
    EXPECT_TRUE(ensemble_.wait_until_serving(kTestTimeout)) << ensemble_.log();
    moved_ = ensemble_.followers().at(0);
    leader_ = ensemble_.leader().value();
    raw_.emplace(ensemble_[leader_].hosts());
    EXPECT_EQ(raw_->add_digest(std::string(kSuperDigest)), ZOK);
  }

  // Starts a fourth server in place of the moved one.
  void replace_moved_server() {
    const std::string line = "server.4=127.0.0.1:" + std::to_string(peer_ports_[0]) + ":" +
                             std::to_string(peer_ports_[1]) + ":participant";
    std::vector<std::string> config = {"initLimit=40", "syncLimit=12", "reconfigEnabled=true"};
    std::istringstream members(raw_->get_data("/zookeeper/config").data);
    for (std::string each; std::getline(members, each);) {
      if (each.starts_with("server.")) config.push_back(each);
    }
    config.push_back(line);
    added_.emplace(TestServerOptions{.extra_config = std::move(config), .my_id = 4});
    added_->start();
    const std::string joining = line + ";127.0.0.1:" + std::to_string(added_->port());
    // Refused until the new server follows the leader.
    int rc = ZOK;
    const auto moves = [&] {
      rc = raw_->reconfigure(joining, std::to_string(moved_ + 1));
      return rc == ZOK;
    };
    EXPECT_TRUE(eventually(moves, kTestTimeout)) << rc << added_->log();
    EXPECT_TRUE(added_->wait_until_serving(kTestTimeout)) << added_->log();
  }

  static std::unique_ptr<Client> client_at(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 20s;
    auto client = std::make_unique<Client>(options);
    EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
    return client;
  }

  const FreePorts peer_ports_{2};
  TestEnsemble ensemble_;
  std::size_t moved_ = 0;
  std::size_t leader_ = 0;
  std::optional<TestServer> added_;
  std::optional<RawClient> raw_;
};

TEST_F(QuorumReconfigured, ServerMoved_HoldsSurvive) {
  // The list of the second client does not change, and has a server that stays.
  const std::string old_server = ensemble_[moved_].hosts();
  const auto informed = client_at(old_server);
  const auto uninformed = client_at(old_server + "," + ensemble_[leader_].hosts());
  ReentrantMutex mutex(*informed, kPath);
  ReentrantMutex other_mutex(*uninformed, "/other");
  const Hold hold = mutex.acquire();
  const Hold other_hold = other_mutex.acquire();
  const auto session = informed->session_id();
  const auto other_session = uninformed->session_id();
  Chronicle<ConnectionState> states;
  const auto subscription =
      informed->add_listener([&](ConnectionState state) { states.add(state); });

  replace_moved_server();
  informed->set_hosts(added_->hosts());
  ensemble_[moved_].kill();
  ASSERT_TRUE(states.has(ConnectionState::reconnected));
  EXPECT_EQ(mutex.participants().size(), 1U);
  EXPECT_EQ(other_mutex.participants().size(), 1U);
  EXPECT_EQ(informed->session_id(), session);
  EXPECT_EQ(uninformed->session_id(), other_session);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(other_hold.state(), HoldState::held);

  const auto late = client_at(added_->hosts());
  EXPECT_FALSE(ReentrantMutex(*late, kPath).try_lock());
  EXPECT_FALSE(ReentrantMutex(*late, "/other").try_lock());
}

}  // namespace
}  // namespace zklock::testing
