// SPDX-License-Identifier: Apache-2.0
// Arguments that a call refuses without a request, unusual paths, and quotas of the servers.
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// A call, and the text of its Error without the code.
using Refusals = std::vector<std::pair<std::function<void()>, std::string>>;

// There is no server, so a call that sends a request fails with another error.
class RefusedArguments : public ::testing::Test {
 protected:
  static ClientOptions nowhere() {
    ClientOptions options;
    options.hosts = "127.0.0.1:1";
    options.connection_timeout = 1s;
    return options;
  }
  static void expect_refused(const Refusals& rows) {
    for (const auto& [call, text] : rows)
      EXPECT_EQ(error_text_of(call), text + " [invalid_option]");
  }

  Client client_{nowhere()};
  Client other_{nowhere()};
};

TEST_F(RefusedArguments, OptionsOfLocks_AreExact) {
  const std::string hold = "lock /lock: the maximum hold time must be positive, not ";
  const std::string notice = "lock /lock: the expiry notice must be positive, not ";
  const std::string handoffs = "lock /lock: max_local_handoffs must be at least 1, not ";
  const std::string weight = "lock /lock: a weight is a number from 1 to 10, not ";
  const std::string retry =
      "lead /lock: retry_delay_min must be positive and not above retry_delay_max";
  PriorityMutex priority(client_, kPath);
  const auto leads = [](Leadership&) {};
  expect_refused({
      {[&] { ReentrantMutex(client_, kPath, {.max_hold = 0ms}); }, hold + "0 ms"},
      {[&] { MultiMutex(client_, {kPath}, {.max_hold = -1ms}); }, hold + "-1 ms"},
      {[&] { QuorumMutex({client_}, kPath, {.max_hold = 0ms}); }, hold + "0 ms"},
      {[&] { ReentrantMutex(client_, kPath, {.expiry_notice = -1ms}); }, notice + "-1 ms"},
      {[&] { MultiMutex(client_, {kPath}, {.expiry_notice = 0ms}); }, notice + "0 ms"},
      {[&] { ReentrantMutex(client_, kPath, {.max_local_handoffs = 0}); }, handoffs + "0"},
      {[&] { ReentrantMutex(client_, kPath, {.max_local_handoffs = -1}); }, handoffs + "-1"},
      {[&] { ReentrantMutex(client_, kPath, {.keep_idle_for = -1ms}); },
       "lock /lock: keep_idle_for must not be negative, but it is -1 ms"},
      {[&] { PriorityMutex(client_, kPath, {.weight = 11}); }, weight + "11"},
      {[&] { return priority.acquire({}, 0); }, weight + "0"},
      {[&] { PriorityMutex(client_, kPath, {.ageing = 0}); },
       "lock /lock: an ageing is a number from 1 to 1000000, not 0"},
      {[&] { LeaderLatch(client_, kPath, LatchOptions{.retry_delay_min = 0ms}); }, retry},
      {[&] {
         LeaderLatch(client_, kPath, LatchOptions{.retry_delay_min = 2s, .retry_delay_max = 1s});
       },
       retry},
      {[&] { LeaderElection(client_, kPath, {.retry_delay_min = -1ms}, leads); }, retry},
      {[&] { LeaderElection(client_, kPath, nullptr); },
       "lead /lock: the leader's function is empty"},
  });
  EXPECT_NO_THROW(
      ReentrantMutex(client_, kPath,
                     {.max_local_handoffs = 2, .keep_idle_for = std::chrono::milliseconds::max()}));
}

TEST_F(RefusedArguments, DelayOfEveryClass_HasItsRange) {
  using Maker = std::function<void(std::chrono::milliseconds)>;
  const std::vector<Maker> makers = {
      [&](auto bad) { ReentrantMutex(client_, kPath, {.lock_delay = bad}); },
      [&](auto bad) { SharedMutex(client_, kPath, {.lock_delay = bad}); },
      [&](auto bad) { PriorityMutex(client_, kPath, {.lock_delay = bad}); },
      [&](auto bad) { MultiMutex(client_, {kPath}, {.lock_delay = bad}); },
      [&](auto bad) { QuorumMutex({client_}, kPath, {.lock_delay = bad}); },
      [&](auto bad) { LeaderLatch(client_, kPath, LatchOptions{.lock_delay = bad}); },
      [&](auto bad) { LeaderElection(client_, kPath, {.lock_delay = bad}, [](Leadership&) {}); },
  };
  for (const std::chrono::milliseconds bad :
       {std::chrono::milliseconds(-1), std::chrono::milliseconds(24h) + 1ms,
        std::chrono::milliseconds::min(), std::chrono::milliseconds::max()}) {
    for (const Maker& make : makers) {
      EXPECT_EQ(error_text_of([&] { make(bad); }),
                "lock /lock: the lock delay must be 0 to 24 hours, not " +
                    std::to_string(bad.count()) + " ms [invalid_option]");
    }
  }
}

TEST_F(RefusedArguments, PermitCounts_AreExact) {
  const std::string create = "create the semaphore /lock: the semaphore must have at least ";
  const std::string acquire = "acquire /lock: a call can acquire ";
  const std::string fixed_count = " /lock: the semaphore has a fixed number of permits";
  Semaphore fixed(client_, kPath, 3);
  Semaphore shared(client_, kPath, SharedCount{.initial = 0});
  expect_refused({
      {[&] { Semaphore(client_, kPath, 0); }, create + "one permit, not 0"},
      {[&] { Semaphore(client_, kPath, -3); }, create + "one permit, not -3"},
      {[&] { Semaphore(client_, kPath, SharedCount{-1}); }, create + "0 permits, not -1"},
      {[&] { return fixed.acquire(0); }, acquire + "from 1 to 3 permits, not 0"},
      {[&] { return fixed.acquire(2'000'000'000); },
       acquire + "from 1 to 3 permits, not 2000000000"},
      {[&] { return fixed.try_acquire(-1); }, acquire + "from 1 to 3 permits, not -1"},
      {[&] { return fixed.async_acquire(4).get(); }, acquire + "from 1 to 3 permits, not 4"},
      {[&] { return shared.acquire(0); }, acquire + "at least one permit, not 0"},
      {[&] { shared.set_permits(-1); },
       "set the permits of /lock: the semaphore must have at least 0 permits, not -1"},
      {[&] { fixed.set_permits(3); }, "set the permits of" + fixed_count},
      {[&] { return fixed.add_permits(1); }, "add permits to" + fixed_count},
  });
  EXPECT_EQ(fixed.permits(), 3);
}

TEST_F(RefusedArguments, PartsOfComposites_AreExact) {
  const auto multi = [&](std::vector<LockPart> parts) {
    return [&, all = std::move(parts)] { MultiMutex(client_, all); };
  };
  const auto counted = [](int count) { return SharedCount{.initial = count}; };
  const std::string clients = "lock /lock: ";
  expect_refused({
      {multi({}), "lock: the list of paths is empty"},
      {[&] {
         MultiMutex(client_, {"/a", "/b", "/a"});
       },
       "lock /a: the path is given twice"},
      {multi({LockPart::reader("/a"), LockPart::writer("/a")}), "lock /a: the path is given twice"},
      {multi({LockPart::permits("/a", 1, 0)}),
       "lock /a: the semaphore must have at least one permit, not 0"},
      {multi({LockPart::permits("/a", 1, counted(-1))}),
       "lock /a: the semaphore must have at least 0 permits, not -1"},
      {multi({LockPart::permits("/a", 3, 2)}),
       "lock /a: a call can acquire from 1 to 2 permits, not 3"},
      {multi({LockPart::permits("/a", 0, counted(2))}),
       "lock /a: a call can acquire at least one permit, not 0"},
      {[&] { QuorumMutex({}, kPath); }, clients + "the list of clients is empty"},
      {[&] {
         QuorumMutex({client_, other_, client_}, kPath);
       },
       clients + "a client is given twice; give one client for each ensemble"},
      {[&] { QuorumMutex({client_}, kPath, {.ensemble_timeout = 0ms}); },
       clients + "the ensemble timeout is not positive"},
  });
  EXPECT_NO_THROW(MultiMutex(client_, {LockPart::permits("/a", 3, counted(2))}));
  EXPECT_NO_THROW(MultiMutex(client_, {"/a", "/a/b"}));
  EXPECT_NO_THROW(QuorumMutex({client_, other_}, kPath));
}

// suite/basics_test.cpp has the paths of one lock, and unit/lock_path_test.cpp the texts.
TEST_F(RefusedArguments, OtherPaths_AreInvalid) {
  const auto refusal = [](auto call) { return error_of(call); };
  for (const std::string path : {"", "a", "/", "/a/", "/zookeeper/x"}) {
    EXPECT_EQ(refusal([&] { LockObserver(client_, path); }), Errc::invalid_path);
    EXPECT_EQ(refusal([&] { ElectionObserver(client_, path); }), Errc::invalid_path);
    EXPECT_EQ(refusal([&] { MultiMutex(client_, {"/b", path}); }), Errc::invalid_path);
    EXPECT_EQ(refusal([&] { return request_release(client_, path); }), Errc::invalid_path);
  }
  EXPECT_EQ(refusal([&] { return request_release(client_, kPath, {.node = "config"}); }),
            Errc::invalid_option);
}

using Errors = LockTest;

TEST_F(Errors, UnusualPath_IsAccepted) {
  const auto client = connect();
  std::vector<Hold> holds;
  for (const std::string path : {"/a", "/a b", "/a.b/..c/...", "/zookeeper2", "/lock-0000000001",
                                 "/\xc3\xa4\xe2\x82\xac", "/a/%2e/%s%n"}) {
    ReentrantMutex mutex(*client, path);
    EXPECT_EQ(mutex.path(), path);
    holds.push_back(mutex.acquire({.deadline = kTestTimeout}));
    EXPECT_EQ(raw().exists(path).rc, ZOK);
  }
  // One lock path may lie below another. Their queues are independent.
  for (const Hold& hold : holds) EXPECT_EQ(hold.state(), HoldState::held);
}

class Quota : public OwnServerTest {
 protected:
  Quota() : OwnServerTest({.extra_jvm_flags = {"-Dzookeeper.enforceQuota=true"}}) {}
};

TEST_F(Quota, QuotaExceeded_LockFailsUntilTheQuotaIsRemoved) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  RawClient top(server_.hosts());
  std::string quota = "/zookeeper/quota";
  for (const std::string& part : {chroot_.path(), kPath}) {
    quota += part;
    ASSERT_EQ(top.create(quota).rc, ZOK);
  }
  const std::string limits = "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2";
  ASSERT_EQ(top.create(quota + "/zookeeper_limits", limits).rc, ZOK);
  ASSERT_EQ(top.create(quota + "/zookeeper_stats", "count=2,bytes=0").rc, ZOK);
  EXPECT_EQ(error_of([&] { return mutex.acquire({.owner = Owner::unique()}); }),
            Errc::quota_exceeded);
  EXPECT_EQ(hold.state(), HoldState::held);
  ASSERT_EQ(top.delete_recursive(quota), ZOK);
  hold.release();
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
}

}  // namespace
}  // namespace zklock::testing
