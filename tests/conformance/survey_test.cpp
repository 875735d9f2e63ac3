// SPDX-License-Identifier: Apache-2.0
// A survey of real servers: what it costs them, and which locks it finds.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

using SurveyTest = LockTest;

std::vector<SurveyedLock> locks_below(Client& client, const std::string& root) {
  Survey survey(client, root);
  std::vector<SurveyedLock> locks;
  while (!survey.is_complete()) {
    SurveyPage page = survey.next(1'000, kTestTimeout);
    std::ranges::move(page.locks, std::back_inserter(locks));
  }
  return locks;
}

TEST_F(SurveyTest, LocksOfAllKinds_AreFound) {
  const auto client = connect();
  const auto other = connect();
  ReentrantMutex mutex(*client, "/locks/mutex");
  SharedMutex shared(*client, "/locks/shared");
  Semaphore semaphore(*other, "/locks/semaphore", SharedCount{.initial = 3});
  ReentrantMutex free(*client, "/locks/free");
  const Hold held = mutex.acquire();
  const Hold reader = shared.acquire_shared();
  const Hold permit = semaphore.acquire(2);
  free.acquire().release();
  SharedMutex others_shared(*other, "/locks/shared");
  auto waiting = others_shared.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/locks/shared"));
  ASSERT_TRUE(becomes_empty("/locks/free"));

  const auto locks = locks_below(*client, "/");
  ASSERT_EQ(locks.size(), 3U);
  EXPECT_EQ(locks[0].path, "/locks/mutex");
  ASSERT_EQ(locks[0].state.holders.size(), 1U);
  EXPECT_EQ(locks[0].state.holders[0].token, held.token());
  EXPECT_EQ(locks[0].state.holders[0].owner, held.owner().to_string());
  EXPECT_TRUE(locks[0].state.holders[0].mine);
  EXPECT_EQ(locks[1].path, "/locks/semaphore");
  EXPECT_EQ(locks[1].permits, 3);
  ASSERT_EQ(locks[1].state.holders.size(), 1U);
  EXPECT_EQ(locks[1].state.holders[0].permits, 2);
  EXPECT_FALSE(locks[1].state.holders[0].mine);
  EXPECT_EQ(locks[2].path, "/locks/shared");
  EXPECT_EQ(locks[2].state.holders.size(), 1U);
  EXPECT_EQ(locks[2].waiters.size(), 1U);
  EXPECT_EQ(locks[2].next_sequence, 2);
}

// The transactions and watches of the whole server are counted, so no other test uses it.
class SurveyOfOwnServer : public OwnServerTest {
 protected:
  SurveyOfOwnServer() : OwnServerTest(TestServerOptions{}) {}
  // Returns the line of `word` that begins with `name`.
  std::string line(std::string_view word, const std::string& name) const {
    const std::string text = query_server(server_, word);
    const auto begin = text.find(name);
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }
  std::int64_t zxid() const {
    const std::string name = "Zxid: ";
    const std::string text = line("srvr", name);
    return text.empty() ? -1 : std::stoll(text.substr(name.size()), nullptr, 16);
  }
};

// With ZKLOCK_SURVEY_PATHS=100000 it takes about two minutes.
TEST_F(SurveyOfOwnServer, ThousandsOfPaths_CostReadsOnly) {
  const char* const wanted = std::getenv("ZKLOCK_SURVEY_PATHS");
  const int paths = wanted != nullptr ? std::atoi(wanted) : 3'000;
  constexpr std::size_t kRate = 4'000;
  ASSERT_EQ(raw().create("/locks").rc, ZOK);
  int held = 0;
  for (int i = 0; i < paths; ++i) {
    const std::string path = "/locks/" + std::to_string(i);
    ASSERT_EQ(raw().create(path).rc, ZOK);
    if (i % 10 != 0) continue;
    ++held;
    ASSERT_EQ(raw().create(path + "/lock-", {}, ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  }
  const auto client = connect();
  Survey survey(*client, "/", {.requests_per_second = kRate});
  const std::int64_t zxid_before = zxid();
  const std::string watches = line("wchs", "Total watches");
  ASSERT_GT(zxid_before, 0);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t found = 0;
  std::size_t visited = 0;
  while (!survey.is_complete()) {
    const SurveyPage page = survey.next(100, kTestTimeout);
    EXPECT_LE(page.locks.size(), 100U);
    found += page.locks.size();
    visited += page.visited;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(found, static_cast<std::size_t>(held));
  EXPECT_EQ(visited, static_cast<std::size_t>(paths) + 2);
  const auto requests = static_cast<double>(visited + found);
  EXPECT_GE(seconds.count(), (requests - 200) / kRate) << "the rate";
  EXPECT_LE(zxid(), zxid_before + 5) << "nothing is written, but for the beginning of the session";
  EXPECT_EQ(line("wchs", "Total watches"), watches) << "no watch was set";
  RecordProperty("seconds", std::to_string(seconds.count()));
}

}  // namespace
}  // namespace zklock::testing
