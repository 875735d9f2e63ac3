// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "zklock/client/threads/backoff.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/client/zookeeper/zk_handle.h"
#include "zklock/error.h"

namespace zklock::client {
namespace {

using std::chrono::milliseconds;

ClientOptions good() {
  ClientOptions options;
  options.hosts = "127.0.0.1:2181";
  return options;
}

// Returns the error after a change to good options; 0: none.
Errc after(const std::function<void(ClientOptions&)>& change) {
  ClientOptions options = good();
  change(options);
  try {
    validate(options);
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    return error.errc();
  }
  return Errc{};
}

TEST(Validate, Defaults_AreValid) {
  EXPECT_EQ(after([](ClientOptions&) {}), Errc{});
}

TEST(Validate, InvalidHosts_AreRefused) {
  EXPECT_EQ(after([](ClientOptions& o) { o.hosts = ""; }), Errc::invalid_hosts);
  EXPECT_EQ(after([](ClientOptions& o) { o.hosts = "a"; }), Errc::invalid_hosts);
}

TEST(Validate, InvalidDurations_AreRefused) {
  for (const long long ms : {-1LL, 0LL, 99LL, 3'600'001LL}) {
    EXPECT_EQ(after([ms](ClientOptions& o) { o.session_timeout = milliseconds(ms); }),
              Errc::invalid_option)
        << ms;
  }
  EXPECT_EQ(after([](ClientOptions& o) { o.session_timeout = milliseconds(100); }), Errc{});
  EXPECT_EQ(after([](ClientOptions& o) { o.connection_timeout = milliseconds(0); }),
            Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.connection_timeout = milliseconds::max(); }),
            Errc::invalid_option);
  for (const long long ms : {-1LL, 24LL * 3'600'000 + 1}) {
    EXPECT_EQ(after([ms](ClientOptions& o) { o.loss_callback_limit = milliseconds(ms); }),
              Errc::invalid_option)
        << ms;
  }
  EXPECT_EQ(after([](ClientOptions& o) { o.loss_callback_limit = milliseconds(0); }), Errc{});
  EXPECT_EQ(after([](ClientOptions& o) { o.retry_delay_min = milliseconds(0); }),
            Errc::invalid_option);
  EXPECT_EQ(
      after([](ClientOptions& o) { o.retry_delay_max = o.retry_delay_min - milliseconds(1); }),
      Errc::invalid_option);
}

TEST(Validate, CapsOutOfRange_AreRefused) {
  EXPECT_EQ(after([](ClientOptions& o) { o.max_in_flight = 0; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.max_in_flight = 1'000'000; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.max_node_bytes = 0; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.max_watch_bytes = 10'000'000; }), Errc::invalid_option);
}

TEST(Validate, InvalidCredentialsAndAcls_AreRefused) {
  EXPECT_EQ(after([](ClientOptions& o) { o.digest = {"", "x"}; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.digest = {"a:b", "x"}; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) {
              o.digest = {"m\xC3\xBCller", "x"};
            }),
            Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.digest = {"a", "gr\xC3\xBCn"}; }), Errc::invalid_option);
  EXPECT_EQ(after([](ClientOptions& o) { o.acl = AclPolicy::creator_all(); }), Errc::invalid_acl);
  EXPECT_EQ(after([](ClientOptions& o) {
              o.acl = AclPolicy::creator_all();
              o.digest = {"a", ""};
            }),
            Errc{});
  EXPECT_EQ(after([](ClientOptions& o) { o.acl = AclPolicy::list({}); }), Errc::invalid_acl);
  EXPECT_EQ(after([](ClientOptions& o) {
              o.acl = AclPolicy::list({{0, "world", "anyone"}});
            }),
            Errc::invalid_acl);
  EXPECT_EQ(after([](ClientOptions& o) {
              o.acl = AclPolicy::list({{1, "", "anyone"}});
            }),
            Errc::invalid_acl);
  const AclPolicy of_the_creator = AclPolicy::list({{AclEntry::all, "auth", ""}});
  EXPECT_EQ(after([&](ClientOptions& o) { o.acl = of_the_creator; }), Errc::invalid_acl);
  EXPECT_EQ(after([&](ClientOptions& o) {
              o.acl = of_the_creator;
              o.digest = {"a", "b"};
            }),
            Errc{});
}

TEST(Validate, TlsWithoutSupport_IsRefused) {
  if (tls_supported()) GTEST_SKIP() << "this C client has TLS";
  EXPECT_EQ(after([](ClientOptions& o) { o.tls = {"ca", "cert", "key", ""}; }), Errc::unsupported);
}

TEST(Backoff, Next_DoublesToTheMaximumWithJitter) {
  double random = 0;
  Backoff backoff(milliseconds(100), milliseconds(500), [&] { return random; });
  EXPECT_EQ(backoff.next(), milliseconds(100));
  random = 1;
  EXPECT_EQ(backoff.next(), milliseconds(100)) << "half of 200";
  random = 0.5;
  EXPECT_EQ(backoff.next(), milliseconds(300));
  random = 0;
  EXPECT_EQ(backoff.next(), milliseconds(500));
  EXPECT_EQ(backoff.next(), milliseconds(500));
  backoff.reset();
  EXPECT_EQ(backoff.next(), milliseconds(100));
}

}  // namespace
}  // namespace zklock::client
