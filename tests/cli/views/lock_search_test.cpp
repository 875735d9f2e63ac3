// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "locks.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_query.h"
#include "zklock/cli/core/lock_selection.h"

namespace zklock::cli::testing {
namespace {

using Paths = std::vector<std::string>;

LockQuery parsed(std::string_view query) {
  return parse_lock_query(query);
}

std::string fault_of(std::string_view query) {
  try {
    (void)parse_lock_query(query);
    return "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

Paths found(const Snapshot& snapshot, const std::string& search) {
  Paths paths;
  for (const auto* lock : find_locks(snapshot, {.search = search}, 100, kNow).locks) {
    paths.push_back(lock->path);
  }
  return paths;
}

TEST(LockQuery, Fields_AreDecoded) {
  EXPECT_EQ(parsed("").search, "");
  EXPECT_EQ(parsed("search=a%20b%2Fc%c3%a4+d&sort=held").search, "a b/c\xc3\xa4 d");
  EXPECT_EQ(parsed("sort=held&search=a").sort, RowOrder::held);
  EXPECT_EQ(parsed("sort=waiting").sort, RowOrder::waiting);
  EXPECT_EQ(parsed("search=a&sort=path").sort, RowOrder::path);
  EXPECT_EQ(parsed("search=").search, "");
  EXPECT_EQ(parsed("search").search, "");
  EXPECT_EQ(parsed("&search=a=b&").search, "a=b");
}

TEST(LockQuery, BadQuery_IsRefusedWithItsCause) {
  EXPECT_EQ(fault_of("serch=a"), "the query has a field that is neither search nor sort");
  EXPECT_EQ(fault_of("=a"), fault_of("serch=a"));
  EXPECT_EQ(fault_of("search=a&search=b"), "the query has a field twice");
  EXPECT_EQ(fault_of("sort=oldest"), "sort must be path, held or waiting");
  EXPECT_EQ(fault_of("sort="), fault_of("sort=oldest"));
  for (const char* const query : {"search=%", "search=%4", "search=%g1", "search=%+1",
                                  "search=%4&sort=held", "search=a%0x"}) {
    EXPECT_EQ(fault_of(query).substr(0, 21), "a % must be followed ") << query;
  }
  for (const char* const query : {"search=%00", "search=%0A", "search=a%1fb", "search=%7f"}) {
    EXPECT_EQ(fault_of(query), "remove the control character from the query") << query;
  }
}

TEST(LockQuery, SearchOfTwoHundredBytes_IsTheLongest) {
  const std::string too_long = "the search is too long: shorten it to 200 bytes";
  EXPECT_EQ(parsed("search=" + std::string(200, 'a')).search.size(), kMostSearchBytes);
  EXPECT_EQ(fault_of("search=" + std::string(201, 'a')), too_long);
  std::string escaped = "search=";
  for (std::size_t i = 0; i < kMostSearchBytes; ++i) escaped += "%2f";
  EXPECT_EQ(parsed(escaped).search, std::string(kMostSearchBytes, '/'));
  EXPECT_EQ(fault_of(escaped + "a"), too_long);
}

TEST(LockSearch, EachWord_MustMatch) {
  auto noted = busy_lock("/jobs/Report");
  noted.waiters.front().note = "Nightly run";
  noted.waiters.front().label = "writer";
  noted.state.holders.front().owner = "web3:7";
  noted.state.holders.front().thread = "th-77";
  auto other = lock_at("/java");
  add_holder(other, foreign("_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001"));
  const Snapshot snapshot = snapshot_of({other, noted});
  EXPECT_EQ(found(snapshot, ""), (Paths{"/java", "/jobs/Report"}));
  for (const char* const search : {"report", "JOBS/rep", "nightly RUN", "  run   /jobs ", "db7",
                                   "billing", "writer", "web3:7", "th-77", "zklock"}) {
    EXPECT_EQ(found(snapshot, search), Paths{"/jobs/Report"}) << search;
  }
  EXPECT_EQ(found(snapshot, "curator 0x100000ab"), Paths{"/java"});
  EXPECT_EQ(found(snapshot, "nightly curator"), Paths{});
}

TEST(LockSearch, MoreThanTheLimit_AreCountedAndTheImportantShown) {
  std::vector<SurveyedLock> locks;
  for (int i = 10; i < 40; ++i) locks.push_back(lock_at("/few/" + std::to_string(i)));
  locks.push_back(busy_lock("/few/zz"));
  locks.back().state.holders.front().held_since = kNow - 1h;
  locks.push_back(busy_lock("/other"));
  locks.back().state.holders.front().held_since = kNow - 9h;
  const Snapshot snapshot = snapshot_of(std::move(locks));
  const FoundLocks result = find_locks(snapshot, {.search = "/few"}, 2, kNow);
  EXPECT_EQ(result.matching, 31U);
  ASSERT_EQ(result.locks.size(), 2U);
  EXPECT_EQ(result.locks.front()->path, "/few/10");
  EXPECT_EQ(result.locks.back()->path, "/few/zz");
}

TEST(LockSearch, Document_HasTheRowsAndCutsTheirQueues) {
  SurveyedLock crowded = lock_at("/a");
  for (int i = 0; i < 21; ++i) add_waiting(crowded, contender("lock-0000000001", 20s));
  Snapshot snapshot = snapshot_of({crowded, busy_lock("/b"), busy_lock("/c")});
  const FoundLocks result = find_locks(snapshot, {.search = "/"}, 2, kNow);
  const auto document = nlohmann::json::parse(json::found_locks(snapshot, result));
  EXPECT_EQ(document["complete"], true);
  ASSERT_EQ(document["locks"].size(), 2U);
  EXPECT_EQ(document["locks"][0]["queue"].size(), 20U);
  EXPECT_EQ(document["locks"][0]["queue_cut"], true);
  EXPECT_EQ(document["locks"][0]["waiting"], 21);
  EXPECT_EQ(document["locks"][1].dump(),
            nlohmann::json::parse(json::lock_fields(snapshot.locks[1], nullptr)).dump());
  snapshot.unreadable = {"/secret"};
  EXPECT_EQ(nlohmann::json::parse(json::found_locks(snapshot, result))["complete"], false);
}

}  // namespace
}  // namespace zklock::cli::testing
