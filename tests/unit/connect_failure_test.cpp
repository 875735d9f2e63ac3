// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/connect_failure.h"

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

constexpr const char* kServer = "10.0.0.1:2181";
const std::string kRefused =
    "10.0.0.1:2181 refused the connection; check ClientOptions::hosts and the servers";

std::string socket_error(int code, const std::string& error, const std::string& text,
                         const std::string& server = kServer) {
  return "check_events@2446: Socket " + server + " zk retcode=" + std::to_string(code) +
         ", errno=" + error + ": " + text;
}
std::string established(const std::string& timeout) {
  return "check_events@2567: session establishment complete on server 10.0.0.1:2181, "
         "sessionId=0x1000000, negotiated timeout=" +
         timeout + " ";
}
std::string refused() {
  return socket_error(-4, "111(Connection refused)", "server refused to accept the client");
}
std::string silent() {
  return socket_error(-7, "110(Connection timed out)",
                      "connection to 10.0.0.1:2181 timed out (exceeded by 0ms)");
}
std::string closed() {
  return socket_error(-4, "112(Host is down)", "failed while receiving a server response");
}

std::string text_after(std::initializer_list<std::string> lines,
                       const std::string& servers = kServer) {
  ConnectFailure failure;
  for (const std::string& line : lines) failure.on_line(line);
  return failure.text(servers);
}

TEST(ConnectFailure, SocketError_IsNamedByItsErrno) {
  EXPECT_EQ(text_after({refused()}), kRefused);
  const std::string has_closed =
      "closed the connection; check its quorum, its limit of connections (maxClientCnxns), and "
      "whether it lags or was restored";
  struct Case {
    std::string line;
    std::string text;
  };
  for (const auto& [line, text] :
       {Case{silent(), "did not answer; check ClientOptions::hosts, the network and the servers"},
        Case{closed(), has_closed},
        Case{socket_error(-4, "104(Connection reset by peer)", "failed"), has_closed},
        Case{socket_error(-4, "32(Broken pipe)", "failed"), has_closed},
        Case{socket_error(-4, "113(No route to host)", "connect() call failed"),
             "cannot be reached (No route to host); check ClientOptions::hosts and the network"},
        Case{socket_error(-15, "22(Invalid argument)", "error in ssl connect"),
             "and this client could not agree on TLS; check the certificates on both sides with "
             "openssl s_client, and the port"}}) {
    EXPECT_EQ(text_after({line}), "10.0.0.1:2181 " + text);
  }
}

TEST(ConnectFailure, OtherLines_ChangeNothing) {
  EXPECT_EQ(text_after({}), "");
  for (const std::string line :
       {"", "Socket", "Socket  zk retcode=-4, errno=111(x): y", "initiated connection to server x",
        "Socket 10.0.0.2:2181 zk retcode=-112, errno=116(Stale file handle): expired",
        "Socket 10.0.0.2:2181 zk retcode=x, errno=111(x): y"}) {
    EXPECT_EQ(text_after({line}), "") << line;
    EXPECT_EQ(text_after({refused(), line}), kRefused) << line;
  }
}

TEST(ConnectFailure, NoSocket_NamesTheLimitOfFiles) {
  const std::string line = socket_error(-1, "24(Too many open files)", "socket() call failed");
  EXPECT_EQ(text_after({line}),
            "the system provides no socket for the connection to 10.0.0.1:2181 (Too many open "
            "files); raise the limit of open files, or close some");
  EXPECT_TRUE(ConnectFailure().on_line(line, true)) << "an attempt has failed";
}

// A server that requires SASL accepts the client, and closes the connection later.
TEST(ConnectFailure, PauseAfterAllServers_IsReported) {
  const std::string pause =
      "zookeeper_interest@2461: Delaying connection after exhaustively trying all servers "
      "[10.0.0.1:2181]";
  EXPECT_TRUE(ConnectFailure().on_line(pause));
  EXPECT_EQ(text_after({refused(), pause}), kRefused);
  EXPECT_EQ(text_after({pause}), "");
}

TEST(ConnectFailure, OtherErrorLine_IsPartOfTheText) {
  ConnectFailure failure;
  const auto on_error = [&](const std::string& line) { failure.on_line(line, true); };
  on_error("init_ssl_for_socket@2771: Failed to load CA file /x/ca.pem");
  EXPECT_EQ(failure.text(kServer),
            "no connection to 10.0.0.1:2181: Failed to load CA file /x/ca.pem");
  on_error(refused());
  EXPECT_EQ(failure.text(kServer), kRefused);
  on_error("zookeeper_interest@2664: failed to send PING request (zk retcode=-4)");
  EXPECT_EQ(failure.text(kServer), kRefused);
  on_error("text without a function");
  EXPECT_EQ(failure.text(kServer), "no connection to 10.0.0.1:2181: text without a function");
  on_error(established("6000"));
  EXPECT_EQ(failure.text(kServer), "");
}

TEST(ConnectFailure, LastOneCounts) {
  EXPECT_EQ(text_after({closed(), refused()}), kRefused);
  EXPECT_EQ(text_after({refused(), established("6000")}), "") << "of an earlier connection";
}

TEST(ConnectFailure, ImpossibleTimeout_IsNoZooKeeperServer) {
  const std::string foreign = "10.0.0.1:2181 is no ZooKeeper server; check ClientOptions::hosts";
  for (const std::string timeout : {"538976288", "86400001", "0", "-1"}) {
    EXPECT_EQ(text_after({established(timeout)}), foreign) << timeout;
    EXPECT_EQ(text_after({established(timeout), closed()}), foreign) << "it hangs up";
    EXPECT_EQ(text_after({established(timeout), silent()}), foreign) << "the C client hangs up";
  }
  EXPECT_EQ(text_after({established("538976288"), refused()}), kRefused);
  for (const std::string timeout : {"1", "100", "86400000"}) {
    EXPECT_EQ(text_after({established(timeout)}), "") << timeout;
  }
}

TEST(ConnectFailure, OtherServerOnTheAddress_HasItsOwnCause) {
  const std::string new_handle =
      "zookeeper_init_internal@1233: Initiating client connection, host=10.0.0.1:2181 "
      "sessionTimeout=6000";
  const std::string foreign = text_after({established("0")});
  EXPECT_EQ(text_after({established("0"), new_handle}), foreign) << "until it has another cause";
  for (const std::string& line : {closed(), silent()}) {
    EXPECT_EQ(text_after({established("0"), line, new_handle, line}), text_after({line}));
    EXPECT_EQ(text_after({new_handle, established("0"), line}), foreign);
  }
}

TEST(ConnectFailure, HostNames_StandBesideTheAddress) {
  EXPECT_EQ(text_after({refused()}, "db1:2181, db2:2181"),
            "10.0.0.1:2181 (of db1:2181, db2:2181) refused the connection; check "
            "ClientOptions::hosts and the servers");
}

}  // namespace
}  // namespace zklock::client
