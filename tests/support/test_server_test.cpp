// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/test_server.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/raw_client.h"
#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/four_letter_word.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TestServer, Paused_RepliesOnlyAfterResume) {
  TestServer server;
  EXPECT_FALSE(server.is_running());
  EXPECT_FALSE(server.four_letter_word("srvr"));
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(server.mode(), "standalone");
  const pid_t pid = server.pid();
  server.start();
  EXPECT_EQ(server.pid(), pid) << "started a second time";

  server.pause();
  EXPECT_TRUE(server.is_paused());
  EXPECT_FALSE(server.four_letter_word("srvr", milliseconds(300)));
  EXPECT_FALSE(server.wait_until_serving(milliseconds(50)));
  server.resume();
  EXPECT_TRUE(server.wait_until_serving());
}

TEST(TestServer, FourLetterWords_AreAllAnswered) {
  TestServer server;
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

TEST(TestServer, RestartOrCrash_RetainsDataAndPort) {
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  const std::string hosts = server.hosts();
  ASSERT_EQ(RawClient(hosts).create("/kept", "value").rc, ZOK);

  server.restart();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(server.hosts(), hosts);
  EXPECT_EQ(RawClient(hosts).get_data("/kept").data, "value");

  server.kill();
  EXPECT_FALSE(server.is_running());
  EXPECT_EQ(server.mode(), std::nullopt);
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  EXPECT_EQ(RawClient(hosts).get_data("/kept").data, "value");

  server.pause();
  server.stop();  // works on a paused server too
  EXPECT_FALSE(server.is_running());
}

TEST(TestServer, Options_ReachTheServer) {
  TestServerOptions options;
  options.tick_time = milliseconds(200);
  options.min_session_timeout = milliseconds(700);
  options.max_session_timeout = milliseconds(3000);
  options.extra_config = {"maxClientCnxns=7"};
  options.extra_jvm_flags = {"-Dzookeeper.client.portUnification=false"};
  TestServer server(options);
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  const auto conf = server.four_letter_word("conf").value_or("");
  for (const char* line : {"tickTime=200", "maxClientCnxns=7", "minSessionTimeout=700"}) {
    EXPECT_NE(conf.find(line), std::string::npos) << conf;
  }
  EXPECT_EQ(RawClient(server.hosts()).negotiated_timeout(), milliseconds(3000));
}

TEST(TestServer, BrokenConfiguration_IsLoggedAndNotWaitedFor) {
  TestServerOptions options;
  options.extra_config = {"clientPort=none"};
  TestServer server(options);
  server.start();
  EXPECT_FALSE(server.wait_until_serving(std::chrono::hours(1)));
  EXPECT_NE(server.log().find("Invalid config"), std::string::npos) << server.log();
}

TEST(TestServer, Destructor_LeavesNoProcessAndNoFiles) {
  pid_t pid = 0;
  std::filesystem::path directory;
  {
    TestServer server;
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

TEST(TestServer, NoJava_SaysWhy) {
  EXPECT_EQ(TestServer::unavailable(), std::nullopt) << "here the other tests start servers";
  const TempDir directory;
  ChildOptions options;
  options.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "--why-no-server"};
  options.env = {{"JAVA_HOME", "/zklock/no/such/directory"}};
  options.log_file = directory.path() / "log";
  ChildProcess child(options);
  ASSERT_TRUE(child.wait(seconds(60)));
  std::ifstream file(options.log_file);
  const std::string log(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(log.find("/zklock/no/such/directory/bin/java cannot be started: install"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace zklock::testing
