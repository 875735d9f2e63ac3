// SPDX-License-Identifier: Apache-2.0
// TLS with a C client that has zookeeper_init_ssl: the stub of this folder.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tls/tls_fixture.h"

namespace zklock::testing {
namespace {

TEST_F(TlsTest, CClientWithTheSymbol_IsUsed) {
  Client client(options(SharedServer::hosts()));
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_EQ(std::string(stub_last_files()).rfind(file("ca.pem") + "," + file("cert.pem"), 0), 0U);
  ReentrantMutex mutex(client, "/tls");
  EXPECT_TRUE(mutex.acquire({.deadline = kTestTimeout}));
}

// zookeeper_init_ssl splits its argument with strtok(), which has one state for all threads.
TEST_F(TlsTest, ClientsOfSeveralThreads_AreOpenedOneByOne) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Client>(options(SharedServer::hosts())));
  }
  for (const auto& client : clients) EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
  EXPECT_EQ(stub_most_at_once(), 1);
}

}  // namespace
}  // namespace zklock::testing
