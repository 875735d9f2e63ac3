// SPDX-License-Identifier: Apache-2.0
// Transactions guarded by holds of contenders of one client that share a znode.
#include <exception>
#include <optional>

#include "tests/model/cohort_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

/// A holder's write of /data.
class Writing {
 public:
  Writing(const Hold& hold, const std::string& data) : tx_(hold) { tx_.set("/data", data); }
  void commit() {
    tx_.async_commit([this](const std::exception_ptr& e) { written = e == nullptr; });
  }
  std::optional<bool> written;

 private:
  GuardedTransaction tx_;
};

TEST_F(CohortTest, CommitAfterRelease_WritesNothing) {
  ensemble().create("/data", "0");
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  Writing writing(call(first).hold, "1");
  release(first);
  expect_same_node(first, second);
  writing.commit();
  run();
  EXPECT_EQ(writing.written, false);
  EXPECT_EQ(ensemble().find("/data")->data, "0");
  release(second);
  expect_rest();
}

// Another thread releases between any two steps of the commit. Either the commit sees the release,
// or the release sees the commit.
TEST_F(CohortTest, ReleaseDuringCommit_IsDetected) {
  ensemble().create("/data", "");
  bool released = true;
  int written_in_all = 0;
  for (int steps = 0; released; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_LT(steps, 100);
    const auto first = granted(0, many());
    const auto second = waiting(0, many());
    Writing writing(call(first).hold, std::to_string(steps));
    writing.commit();
    int left = steps;
    while (left > 0 && lock_.world().run_one()) --left;
    released = left == 0;
    const auto is_executed = [&] {
      return ensemble().find("/data")->data == std::to_string(steps);
    };
    const bool was_executed = is_executed();
    lock_.release(first);
    run();
    ASSERT_TRUE(writing.written.has_value());
    EXPECT_EQ(is_executed(), *writing.written);
    if (*writing.written && !was_executed) {
      expect_new_node(first, second);
      ++written_in_all;
    }
    release(second);
  }
  EXPECT_GT(written_in_all, 0);
  expect_rest();
}

// The write could still arrive after a second grant on the znode.
TEST_F(CohortTest, CommitOutcomeUnknown_EndsSharing) {
  ensemble().create("/data", "0");
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  Writing writing(call(first).hold, "1");
  writing.commit();
  client(0).disconnect(OnTheWay::linger);
  run();
  ASSERT_EQ(writing.written, false);
  lock_.release(first);
  EXPECT_EQ(call(second).outcomes, 0);
  client(0).reconnect();
  run();
  expect_new_node(first, second);
  release(second);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
