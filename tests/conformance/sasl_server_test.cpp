// SPDX-License-Identifier: Apache-2.0
// An ensemble of which one server requires SASL, which zklock does not support.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/test_ensemble.h"

namespace zklock::testing {
namespace {

// The name begins with Quorum, because each test starts three servers.
class QuorumWithSaslServer : public ::testing::Test {
 protected:
  QuorumWithSaslServer() {
    ensemble_.start();
    if (!ensemble_.wait_until_serving()) throw std::runtime_error(ensemble_.log());
  }

  static std::vector<TestServerOptions> members() {
    std::vector<TestServerOptions> members(3);
    members[0].extra_jvm_flags = {
        "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        "-Dzookeeper.sessionRequireClientSASLAuth=true"};
    return members;
  }
  static ClientOptions at(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = Realm::kSessionTimeout;
    options.connection_timeout = kTestTimeout;
    return options;
  }
  static std::optional<Errc> error_of_lock(Client& client) {
    return error_of([&] { return ReentrantMutex(client, kPath).acquire(); });
  }

  TestEnsemble ensemble_{members(), TestEnsemble::Links::direct};
  const std::string sasl_ = ensemble_[0].hosts();
  FaultProxy others_{{ensemble_[1].port(), ensemble_[2].port()}};
};

TEST_F(QuorumWithSaslServer, OthersServedBefore_ServeAgain) {
  Client client(at(others_.hosts()));
  ASSERT_EQ(error_of_lock(client), std::nullopt);

  const auto is_refused = [&] { return error_of_lock(client) == Errc::auth_failed; };
  client.set_hosts(sasl_);
  others_.refuse();
  EXPECT_TRUE(eventually(is_refused, kTestTimeout));
  const std::int64_t session = client.session_id();
  ASSERT_NE(session, 0) << "the client has ended its session";
  ensemble_[1].expire_session(session);
  EXPECT_TRUE(eventually([&] { return client.session_id() != session; }, kTestTimeout));
  EXPECT_TRUE(eventually(is_refused, kTestTimeout));
  EXPECT_NE(client.health().state, HealthState::failed);

  client.set_hosts(others_.hosts());
  others_.accept();
  EXPECT_TRUE(eventually([&] { return !error_of_lock(client); }, kTestTimeout));
}

TEST_F(QuorumWithSaslServer, NoneServedBefore_EachCallFails) {
  Client client(at(sasl_));
  EXPECT_EQ(error_of_lock(client), Errc::auth_failed);
  client.set_hosts(others_.hosts());
  EXPECT_EQ(error_of_lock(client), Errc::auth_failed);
  EXPECT_EQ(error_of([&] { return client.wait_until_connected(); }), Errc::auth_failed);
  EXPECT_EQ(client.health().state, HealthState::failed);
  EXPECT_EQ(others_.connected_to(), std::nullopt);
}

}  // namespace
}  // namespace zklock::testing
