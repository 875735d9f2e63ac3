// SPDX-License-Identifier: Apache-2.0
// A path whose sequence numbers come to their end, on a real server.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "support/snapshot.h"

namespace zklock::testing {
namespace {

class SequenceEnd : public OwnServerTest {
 protected:
  SequenceEnd() : OwnServerTest({.extra_jvm_flags = {"-Dzookeeper.digest.enabled=false"}}) {}

  // The server starts anew with it; clients are to connect afterwards.
  void set_counter(std::int32_t counter) {
    server_.restart();  // it writes a snapshot as it starts
    ASSERT_TRUE(server_.wait_until_serving()) << server_.log();
    server_.stop();
    set_sequence_counter(server_.directory(), chroot_.path() + kPath, counter);
    start_again();
  }

  static constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();
};

TEST_F(SequenceEnd, NumbersBeginAgainWhereNobodyElseIsInTheQueue) {
  FencingToken before;
  {
    const auto client = connect();
    before = ReentrantMutex(*client, kPath).acquire().token();
    ASSERT_TRUE(client->flush(kPatience));
  }
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast - 10));

  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Hold hold = mutex.acquire({.deadline = kPatience});
  EXPECT_EQ(hold.node(), kPath + "/lock-0000000000");
  EXPECT_GT(hold.token(), before);
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(SequenceEnd, FailsClosedWhileSomethingIsInTheQueue) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  ASSERT_EQ(raw().create(kPath + "/lock-0000000007").rc, ZOK);
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast));

  const auto client = connect();
  const auto other = connect();
  ReentrantMutex mutex(*client, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  // More than once: the counter sticks, and each node would have the name of the one before.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto others = others_mutex.async_acquire();
    EXPECT_EQ(error_text_of([&] { mutex.lock(); }),
              "lock /lock: its sequence counter is at its end: when nobody queues there any more, "
              "what is left below it must go [zklock:16]");
    EXPECT_EQ(error_of([&] { return get(others); }), Errc::sequence_exhausted);
  }
  ASSERT_TRUE(client->flush(kPatience));
  ASSERT_TRUE(other->flush(kPatience));
  EXPECT_EQ(nodes(), std::vector<std::string>{"lock-0000000007"});

  ASSERT_EQ(raw().delete_node(kPath + "/lock-0000000007"), ZOK);
  EXPECT_EQ(mutex.acquire({.deadline = kPatience}).node(), kPath + "/lock-0000000000");
}

}  // namespace
}  // namespace zklock::testing
