// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/connection_string.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/error.h"

namespace zklock::client {
namespace {

std::string refusal(const std::string& text) {
  try {
    (void)ConnectionString::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::invalid_hosts) << text;
    return error.what();
  }
  return {};
}

TEST(ConnectionString, ServersAndChroot_AreSplit) {
  const auto hosts = ConnectionString::parse("a:1,b-2.example_3.org:65535,127.0.0.1:2181/x/y");
  ASSERT_EQ(hosts.servers().size(), 3U);
  EXPECT_EQ(hosts.servers()[0].host, "a");
  EXPECT_EQ(hosts.servers()[0].port, 1);
  EXPECT_EQ(hosts.servers()[1].host, "b-2.example_3.org");
  EXPECT_EQ(hosts.servers()[1].port, 65535);
  EXPECT_EQ(hosts.servers()[2].host, "127.0.0.1");
  EXPECT_EQ(hosts.chroot(), "/x/y");
  EXPECT_EQ(hosts.servers_text(), "a:1, b-2.example_3.org:65535, 127.0.0.1:2181");
  EXPECT_EQ(ConnectionString::parse("a:1").chroot(), "");
  EXPECT_EQ(ConnectionString::parse("a:1/").chroot(), "");
}

TEST(ConnectionString, Ipv6InBrackets_IsParsed) {
  const auto hosts = ConnectionString::parse("[::1]:2181,[fe80::1%eth0]:2182/x");
  ASSERT_EQ(hosts.servers().size(), 2U);
  EXPECT_EQ(hosts.servers()[0].host, "::1");
  EXPECT_EQ(hosts.servers()[1].host, "fe80::1%eth0");
  EXPECT_EQ(hosts.servers()[1].port, 2182);
  EXPECT_EQ(hosts.servers_text(), "[::1]:2181, [fe80::1%eth0]:2182");
}

TEST(ConnectionString, Invalid_ErrorNamesTheCause) {
  EXPECT_NE(refusal("").find("the connection string is empty"), std::string::npos);
  EXPECT_NE(refusal("a").find("the port is missing in \"a\""), std::string::npos);
  EXPECT_NE(refusal("a:1,,b:2").find("an entry between the commas is empty"), std::string::npos);
  EXPECT_NE(refusal("::1:2181").find("must stand in brackets"), std::string::npos);
  EXPECT_NE(refusal("[::1]").find("the port is missing"), std::string::npos);
  EXPECT_NE(refusal("a:1/x//y").find("the chroot \"/x//y\" is not a usable path"),
            std::string::npos);
  for (const char* text : {"a:0",      "a:65536",
                           "a:-1",     "a:+1",
                           "a:0x10",   "a:1x",
                           "a:",       ":1",
                           "a b:1",    "a:1, b:2",
                           "a\n:1",    "a:1,",
                           ",a:1",     "/x",
                           "[::1:1",   "[a]:1",
                           "[]:1",     "a]:1",
                           "[::1]x:1", "[fe80::1%]:1",
                           "a:1/x/",   "a:1/./x",
                           "a:1/x/..", "a:1/x\x01",
                           "ä:1",      "a:99999999999999999999"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  EXPECT_NE(refusal(std::string(5000, 'a') + ":1"), "");
  EXPECT_EQ(refusal("a\x1b[31m:1").find('\x1b'), std::string::npos) << "made printable";
}

// The C client does not recover if it has an even number of resolved addresses.
std::string for_c(const std::string& text) {
  return ConnectionString::parse(text).for_c_client([](const std::string& host) {
    if (host == "none") return std::vector<std::string>{};
    if (host == "two") return std::vector<std::string>{"10.0.0.2", "::2"};
    if (host == "turned") return std::vector<std::string>{"::2", "10.0.0.2"};
    if (host == "three") return std::vector<std::string>{"10.0.0.3", "10.0.0.4", "10.0.0.5"};
    return std::vector<std::string>{host};
  });
}

TEST(ConnectionString, EvenAddressCount_IsMadeOdd) {
  EXPECT_EQ(for_c("a:1/x"), "a:1");
  EXPECT_EQ(for_c("a:1,b:2"), "a:1,b:2,a:1");
  EXPECT_EQ(for_c("a:1,b:2,c:3"), "a:1,b:2,c:3");
  EXPECT_EQ(for_c("two:1"), "10.0.0.2:1,::2:1,10.0.0.2:1");
  EXPECT_EQ(for_c("turned:1"), "10.0.0.2:1,::2:1,10.0.0.2:1") << "in any order of the resolver";
  EXPECT_EQ(for_c("two:1,a:2"), "10.0.0.2:1,::2:1,a:2") << "addresses, not the name";
  EXPECT_EQ(for_c("a:2,three:1"), "a:2,10.0.0.3:1,10.0.0.4:1,10.0.0.5:1,a:2");
  EXPECT_EQ(for_c("[::1]:2181,a:1"), "::1:2181,a:1,::1:2181") << "as the C client reads it";
  EXPECT_EQ(for_c("a:010"), "a:10") << "which would take 010 for octal";
  EXPECT_EQ(for_c("none:1,a:1"), "a:1") << "without an unresolvable host";
  EXPECT_EQ(for_c("a:1,none:1,b:2"), "a:1,b:2,a:1");
  EXPECT_EQ(for_c("none:1"), "");
}

}  // namespace
}  // namespace zklock::client
