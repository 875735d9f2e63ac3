// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/check_client_options.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/client/threads/backoff.h"
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

/// Returns the error after a change to good options; Errc{}: none.
Errc after(const std::function<void(ClientOptions&)>& change) {
  ClientOptions options = good();
  change(options);
  try {
    check_client_options(options);
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    return error.errc();
  }
  return Errc{};
}

/// Sets one option to a value.
template <class T, class Value>
std::function<void(ClientOptions&)> with(T ClientOptions::*option, Value value) {
  return [option, value](ClientOptions& options) { options.*option = T(value); };
}

TEST(Validate, EachOption_HasItsRange) {
  using O = ClientOptions;
  constexpr std::chrono::hours kDay(24);
  const std::vector<std::function<void(O&)>> valid{
      [](O&) {},
      with(&O::session_timeout, milliseconds(100)),
      with(&O::loss_callback_limit, milliseconds(0)),
  };
  const std::vector<std::function<void(O&)>> invalid{
      with(&O::session_timeout, milliseconds(-1)),
      with(&O::session_timeout, milliseconds(0)),
      with(&O::session_timeout, milliseconds(99)),
      with(&O::session_timeout, milliseconds(3'600'001)),
      with(&O::connection_timeout, milliseconds(0)),
      with(&O::connection_timeout, milliseconds::max()),
      with(&O::loss_callback_limit, milliseconds(-1)),
      with(&O::loss_callback_limit, milliseconds(kDay) + milliseconds(1)),
      with(&O::retry_delay_min, milliseconds(0)),
      [](O& o) { o.retry_delay_max = o.retry_delay_min - milliseconds(1); },
      with(&O::max_in_flight, 0),
      with(&O::max_in_flight, 1'000'000),
      with(&O::max_node_bytes, 0),
      with(&O::max_watch_bytes, 10'000'000),
      with(&O::digest, DigestCredential{"", "x"}),
      with(&O::digest, DigestCredential{"a:b", "x"}),
      with(&O::digest, DigestCredential{"m\xC3\xBCller", "x"}),
      with(&O::digest, DigestCredential{"a", "gr\xC3\xBCn"}),
  };
  for (std::size_t i = 0; i < valid.size(); ++i) EXPECT_EQ(after(valid[i]), Errc{}) << i;
  for (std::size_t i = 0; i < invalid.size(); ++i) {
    EXPECT_EQ(after(invalid[i]), Errc::invalid_option) << i;
  }
  EXPECT_EQ(after(with(&O::hosts, "")), Errc::invalid_hosts);
  EXPECT_EQ(after(with(&O::hosts, "a")), Errc::invalid_hosts);
}

TEST(Validate, InvalidAcls_AreRefused) {
  using O = ClientOptions;
  const AclPolicy of_the_creator = AclPolicy::list({{AclEntry::all, "auth", ""}});
  for (const AclPolicy& acl :
       {AclPolicy::creator_all(), of_the_creator, AclPolicy::list({}),
        AclPolicy::list({{0, "world", "anyone"}}), AclPolicy::list({{1, "", "anyone"}})}) {
    EXPECT_EQ(after(with(&O::acl, acl)), Errc::invalid_acl);
  }
  for (const AclPolicy& acl : {AclPolicy::creator_all(), of_the_creator}) {
    const auto change = [&acl](O& o) {
      o.acl = acl;
      o.digest = {"a", ""};
    };
    EXPECT_EQ(after(change), Errc{});
  }
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
