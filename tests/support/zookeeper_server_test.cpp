// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/zookeeper_server.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/raw_client.h"
#include "zklock/testing/servers/four_letter_word.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ZooKeeperServer, Paused_RepliesOnlyAfterResume) {
  ZooKeeperServer server;
  EXPECT_FALSE(server.running());
  EXPECT_FALSE(server.four_letter_word("srvr"));
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(server.mode(), "standalone");
  const pid_t pid = server.pid();
  server.start();
  EXPECT_EQ(server.pid(), pid) << "started a second time";

  server.pause();
  EXPECT_TRUE(server.paused());
  EXPECT_FALSE(server.four_letter_word("srvr", milliseconds(300)));
  EXPECT_FALSE(server.wait_until_serving(milliseconds(50)));
  server.resume();
  EXPECT_TRUE(server.wait_until_serving());
}

TEST(ZooKeeperServer, FourLetterWords_AreAllAnswered) {
  ZooKeeperServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  const RawClient client(server.hosts());
  for (const char* word : {"srvr", "wchs", "cons", "mntr", "dump", "conf"}) {
    const auto answer = server.four_letter_word(word);
    ASSERT_TRUE(answer) << word;
    EXPECT_EQ(answer->find("not in the whitelist"), std::string::npos) << *answer;
  }
  const auto mntr = server.four_letter_word("mntr").value_or("");
  EXPECT_EQ(mntr_value(mntr, "zk_server_state"), "standalone");
  EXPECT_EQ(mntr_value(mntr, "zk_no_such_key"), std::nullopt);
}

TEST(ZooKeeperServer, RestartOrCrash_RetainsDataAndPort) {
  ZooKeeperServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  const std::string hosts = server.hosts();
  ASSERT_EQ(RawClient(hosts).create("/kept", "value").rc, ZOK);

  server.restart();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(server.hosts(), hosts);
  EXPECT_EQ(RawClient(hosts).get_data("/kept").data, "value");

  server.kill_hard();
  EXPECT_FALSE(server.running());
  EXPECT_FALSE(server.serving());
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(RawClient(hosts).get_data("/kept").data, "value");

  server.pause();
  server.stop();  // works on a paused server too
  EXPECT_FALSE(server.running());
}

TEST(ZooKeeperServer, Options_ReachTheServer) {
  ZooKeeperOptions options;
  options.tick_time = milliseconds(200);
  options.min_session_timeout = milliseconds(700);
  options.max_session_timeout = milliseconds(3000);
  options.extra_config = {"maxClientCnxns=7"};
  options.extra_jvm_flags = {"-Dzookeeper.client.portUnification=false"};
  ZooKeeperServer server(options);
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  const auto conf = server.four_letter_word("conf").value_or("");
  for (const char* line : {"tickTime=200", "maxClientCnxns=7", "minSessionTimeout=700"}) {
    EXPECT_NE(conf.find(line), std::string::npos) << conf;
  }
  EXPECT_EQ(RawClient(server.hosts()).negotiated_timeout(), milliseconds(3000));
}

TEST(ZooKeeperServer, BrokenConfiguration_FailsAtOnceAndIsLogged) {
  ZooKeeperOptions options;
  options.extra_config = {"clientPort=none"};
  ZooKeeperServer server(options);
  server.start();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(server.wait_until_serving(seconds(60)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  EXPECT_NE(server.log().find("Invalid config"), std::string::npos) << server.log();
}

TEST(ZooKeeperServer, Destructor_LeavesNoProcessAndNoFiles) {
  pid_t pid = 0;
  std::filesystem::path directory;
  {
    ZooKeeperServer server;
    server.start();
    ASSERT_TRUE(server.wait_until_serving()) << server.log();
    pid = server.pid();
    directory = server.directory();
    EXPECT_TRUE(exists(directory / "data"));
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_FALSE(exists(directory));
}

}  // namespace
}  // namespace zklock::testing
