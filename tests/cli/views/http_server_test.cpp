// SPDX-License-Identifier: Apache-2.0
// Which requests the server answers, and how.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_server_fixture.h"
#include "zklock/cli/core/failure.h"

namespace zklock::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(HttpServerTest, Get_AnswersAndCloses) {
  const auto answer = get("/");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCross-Origin-Resource-Policy: same-origin\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Security-Policy: default-src 'none';"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\npage\n"));
  const auto empty = get("/empty");
  EXPECT_THAT(empty, HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_TRUE(empty.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, Query_IsNoPartOfThePath) {
  EXPECT_TRUE(get("/?x=1").ends_with("page\n"));
  EXPECT_TRUE(get("/query?x=%20?y").ends_with("\r\n\r\nx=%20?y\n"));
  EXPECT_TRUE(get("/query?").ends_with("\r\n\r\n\n"));
  EXPECT_TRUE(get("/query").ends_with("\r\n\r\n\n"));
}

TEST_F(HttpServerTest, LongBody_IsCompressedIfAccepted) {
  const std::string text(1'024, 'x');
  EXPECT_TRUE(get("/kilobyte").ends_with("\r\n\r\n" + text));
  const std::string answer = get("/kilobyte", "Accept-Encoding: br, gzip\r\n");
  const std::size_t end_of_head = answer.find("\r\n\r\n") + 4;
  const std::string packed = answer.substr(end_of_head);
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nVary: Accept-Encoding\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n"));
  EXPECT_LT(packed.size(), 100U);
  EXPECT_EQ(request("HEAD /kilobyte HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n"),
            answer.substr(0, end_of_head));
}

TEST_F(HttpServerTest, OtherAnswers_AreNotCompressed) {
  const std::string accept = "Accept-Encoding: gzip\r\n";
  EXPECT_TRUE(get("/", accept).ends_with("\r\n\r\npage\n"));
  push("plain");
  for (const char* const refused : {"Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: br\r\n"}) {
    auto socket = connect();
    send(socket, std::string("GET /events HTTP/1.1\r\nHost: localhost\r\n") + refused + "\r\n");
    std::string answer = read_some(socket);
    while (answer.find("\r\n\r\n") == std::string::npos) answer += read_some(socket);
    ASSERT_EQ(answer.find("Content-Encoding"), std::string::npos);
    while (!answer.ends_with("plain")) answer += read_some(socket);
  }
}

TEST_F(HttpServerTest, Head_HasNoBody) {
  const auto answer = request("HEAD / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_TRUE(request("HEAD /events HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, EachByteAlone_SameResult) {
  const std::string text = "GET / HTTP/1.1\r\nHost: 127.0.0.1:9465\r\nA: b\r\n\r\n";
  auto socket = connect();
  socket.set_option(tcp::no_delay(true));
  for (const char c : text) {
    send(socket, std::string(1, c));
    await_turns();
  }
  EXPECT_TRUE(read_all(socket).ends_with("page\n"));
}

TEST_F(HttpServerTest, OtherMethods_AreRefused) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"}) {
    const auto answer = request(std::string(method) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  }
  EXPECT_THAT(request("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nx=1"),
              StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, Body_IsRefusedAndNotRead) {
  const std::string body(10'000, 'x');
  EXPECT_THAT(get("/", "Content-Length: 10000\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(get("/", "Transfer-Encoding: chunked\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(request("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n" + body),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(get("/", "Content-Length: 0\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, Malformed_Is400) {
  for (const char* text :
       {"\r\n\r\n", "GET\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\x05\x01\r\n\r\n"}) {
    EXPECT_THAT(request(text), StartsWith("HTTP/1.1 400 ")) << text;
  }
}

TEST_F(HttpServerTest, OtherVersion_Is505) {
  // The parser takes a line that ends without a carriage return for another version, too.
  EXPECT_THAT(request("GET / HTTP/1.1\nHost: localhost\n\n"), StartsWith("HTTP/1.1 505 "));
  for (const char* version : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTPS/1.1"}) {
    const auto answer = request("GET / " + std::string(version) + "\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 505 ")) << version;
  }
}

TEST_F(HttpServerTest, PathTraversal_Is404) {
  for (const char* target : {"/../etc/passwd", "/%2e%2e/", "//", "/.", "/page.html", "/%00", "/..",
                             "/events/../", "/metrics%20"}) {
    EXPECT_THAT(get(target), StartsWith("HTTP/1.1 404 ")) << target;
  }
}

TEST_F(HttpServerTest, HugeHead_Is431) {
  const std::string part = "A: " + std::string(1'000, 'x') + "\r\n";
  std::string fields;
  for (int i = 0; i < 100; ++i) fields += part;
  EXPECT_THAT(get("/", fields), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(get("/", std::string(100'000, 'x')), StartsWith("HTTP/1.1 431 "));
  std::string many;
  for (int i = 0; i < 64; ++i) many += "A: b\r\n";
  EXPECT_THAT(get("/", many), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(get("/" + std::string(1'024, 'x')), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(get("/" + std::string(9'000, 'x')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, Range_IsIgnored) {
  std::string ranges = "Range: bytes=0-0";
  for (int i = 1; i < 500; ++i) ranges += "," + std::to_string(i) + "-" + std::to_string(i);
  EXPECT_TRUE(get("/", ranges + "\r\n").ends_with("\r\n\r\npage\n"));
}

TEST_F(HttpServerTest, Host_IsAnAddressOrPermitted) {
  const auto status = [this](const std::string& host) {
    return request("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").substr(9, 3);
  };
  for (const char* host : {"localhost", "LOCALHOST:9465", "127.0.0.1", "10.1.2.3:80", "[::1]:9465",
                           "[fe80::1]", "locks.example.org", "Locks.Example.org:443"}) {
    EXPECT_EQ(status(host), "200") << host;
  }
  for (const char* host : {"evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org", "",
                           "localhost@evil.org", "[localhost", "xlocks.example.org"}) {
    EXPECT_EQ(status(host), "421") << host;
  }
}

TEST_F(HttpServerTest, OtherSite_GetsNoData) {
  EXPECT_THAT(get("/events", "Sec-Fetch-Site: cross-site\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(get("/big", "Sec-Fetch-Site: same-site\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(get("/", "Sec-Fetch-Site: cross-site\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/none", "Sec-Fetch-Site: same-origin\r\n"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, Pipelined_OnlyTheFirstIsAnswered) {
  const std::string one = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const auto answer = request(one + one + one);
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos);
  EXPECT_TRUE(answer.ends_with("page\n"));
}

TEST(ParseEndpoint, Addresses_AreParsed) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:9465").port(), 9465);
  EXPECT_TRUE(parse_endpoint("[::1]:0").address().is_v6());
  for (const char* text : {"", "9465", "localhost:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999",
                           "127.0.0.1:1x", "::1", "127.0.0.1:-1"}) {
    EXPECT_THROW(parse_endpoint(text), Failure) << text;
  }
}

}  // namespace
}  // namespace zklock::cli::testing
