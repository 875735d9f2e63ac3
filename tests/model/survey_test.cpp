// SPDX-License-Identifier: Apache-2.0
// The content of a survey, with ports that reply at once from a simulated tree.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <malloc.h>

#include "tests/model/survey_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"

namespace zklock::model {
namespace {

using Paths = std::vector<std::string>;

TEST_F(SurveyTest, RootDoesNotExist_SurveyIsEmpty) {
  Survey survey(*client_, "/locks", unlimited());
  EXPECT_FALSE(survey.is_complete());
  const SurveyPage page = survey.next();
  EXPECT_TRUE(survey.is_complete());
  EXPECT_EQ(page.locks.size() + page.empty_znodes.size() + page.unreadable.size(), 0U);
  EXPECT_EQ(page.visited, 0U);
  EXPECT_EQ(survey.next().visited, 0U) << "a further call finds nothing";
  EXPECT_EQ(servers_->requests(), 1U);
}

TEST_F(SurveyTest, LockBelowLock_BothAreFound) {
  lock("/a");
  lock("/a/below");
  for (int i = 0; i < 12; ++i) directory("/a/other" + std::to_string(i));
  const SurveyPage page = all("/a");
  EXPECT_EQ(paths(page), (Paths{"/a", "/a/below"}));
  EXPECT_EQ(page.locks[0].other_children_count, 13U);
  ASSERT_EQ(page.locks[0].other_children.size(), 10U);
  EXPECT_EQ(page.locks[0].other_children.front(), "below");
  EXPECT_EQ(page.locks[1].other_children_count, 0U);
}

TEST_F(SurveyTest, NodesOfZklock_AreNotEntered) {
  lock("/a");
  contender("/a");
  for (const std::string& name :
       {core::release_request_node({0}), core::proclamation_node({0}), std::string("count"),
        core::DelayMarker::make(5s, {7}, {0}).name}) {
    ASSERT_EQ(ensemble_.create("/a/" + name, "data"), Status::ok);
  }
  const SurveyPage page = all("/a");
  EXPECT_EQ(servers_->count_of(OperationKind::list_children), 1U);
  EXPECT_EQ(servers_->count_of(OperationKind::get), 2U) << "for two contenders";
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_EQ(page.locks[0].other_children_count, 0U);
  EXPECT_EQ(page.locks[0].next_sequence, 6);
}

// In a directory without contenders, "count" and "proclaimed-..." may be the user's own names.
TEST_F(SurveyTest, ReservedNameOfDirectory_IsEntered) {
  directory("/a");
  directory("/a/count");
  lock("/a/count/lock");
  directory("/a/proclaimed-daily");
  lock("/a/proclaimed-daily/lock");
  EXPECT_EQ(all("/a").locks.size(), 2U);
}

TEST_F(SurveyTest, NodesOfServers_AreSkippedBelowRoot) {
  lock("/zookeeper");
  directory("/a");
  lock("/a/zookeeper");
  EXPECT_EQ(paths(all("/")), Paths{"/a/zookeeper"});
  EXPECT_EQ(paths(all("/zookeeper")), Paths{"/zookeeper"}) << "if it is the root";
}

TEST_F(SurveyTest, ManyContenders_SomeAreDescribed) {
  directory("/a");
  for (int i = 0; i < 8; ++i) contender("/a", "__READ__");
  for (int i = 0; i < 6; ++i) contender("/a", "__WRIT__");
  const SurveyPage page = all("/a", {.max_holders = 3, .max_waiting = 2, .requests_per_second = 0});
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_EQ(nodes(page.locks[0].state.holders),
            (Paths{"__READ__0000000000", "__READ__0000000001", "__READ__0000000002"}));
  EXPECT_EQ(nodes(page.locks[0].waiters), (Paths{"__WRIT__0000000008", "__WRIT__0000000009"}));
  EXPECT_EQ(page.locks[0].state.waiting, 6U) << "all of them";
  EXPECT_EQ(page.locks[0].state.holding, 8U);
  EXPECT_EQ(servers_->count_of(OperationKind::get), 5U);
  const SurveyPage none = all("/a", {.max_holders = 0, .max_waiting = 0, .requests_per_second = 0});
  ASSERT_EQ(none.locks.size(), 1U);
  EXPECT_EQ(none.locks[0].state.waiting, 6U);
  EXPECT_EQ(none.locks[0].state.holding, 8U);
  EXPECT_TRUE(none.locks[0].state.holders.empty());
}

TEST_F(SurveyTest, FixedCount_IsThatOfTheContenders) {
  directory("/a");
  for (int i = 0; i < 3; ++i) contender("/a", "permits-2-of-4-");
  const SurveyPage page = all("/a");
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_EQ(page.locks[0].permits, 4);
  EXPECT_EQ(page.locks[0].state.holders.size(), 2U);
}

TEST_F(SurveyTest, DelayOfLostHold_IsALock) {
  directory("/a");
  ASSERT_EQ(ensemble_.create("/a/" + core::DelayMarker::make(5s, {7}, {3}).name), Status::ok);
  SurveyPage page = all("/a");
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_TRUE(page.locks[0].is_delayed);
  EXPECT_TRUE(page.locks[0].state.is_free());
  EXPECT_EQ(page.locks[0].state.lock_delay, 5s);
  contender("/a");
  page = all("/a");
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_TRUE(page.locks[0].state.holders.empty());
  EXPECT_EQ(page.locks[0].waiters.size(), 1U) << "until the delay has passed";
}

TEST_F(SurveyTest, NoReadPermission_RestIsRead) {
  directory("/a");
  lock("/a/1");
  directory("/a/2");
  unreadable("/a/2");
  lock("/a/3");
  unreadable("/a/3/" + contender("/a/3", "lock-", "secret"));
  const SurveyPage page = all("/a");
  EXPECT_EQ(paths(page), (Paths{"/a/1", "/a/3"}));
  EXPECT_EQ(page.unreadable, Paths{"/a/2"});
  ASSERT_EQ(page.locks[1].waiters.size(), 1U);
  EXPECT_EQ(page.locks[1].waiters[0].node, "lock-0000000001");
  EXPECT_EQ(page.locks[1].waiters[0].owner, "");
}

TEST_F(SurveyTest, DepthLimit_DeeperNodesAreNotEntered) {
  directory("/a");
  directory("/a/1");
  lock("/a/1/2");
  lock("/a/1/2/3");
  const auto found = [&](std::size_t depth) {
    return all("/a", {.max_depth = depth, .requests_per_second = 0});
  };
  EXPECT_TRUE(found(0).locks.empty());
  EXPECT_EQ(found(0).too_deep, Paths{"/a"});
  EXPECT_EQ(found(0).visited, 1U);
  EXPECT_EQ(paths(found(2)), Paths{"/a/1/2"});
  EXPECT_EQ(found(2).too_deep, Paths{"/a/1/2"});
  EXPECT_EQ(found(3).locks.size(), 2U);
  EXPECT_TRUE(found(3).too_deep.empty());
}

TEST_F(SurveyTest, EmptyNodes_AreListed) {
  directory("/a");
  directory("/a/abandoned");
  ASSERT_EQ(ensemble_.create("/a/config", "timeout=5"), Status::ok);
  ASSERT_EQ(ensemble_.create("/a/service", "", session_), Status::ok);
  lock("/a/lock");
  const SurveyPage page = all("/a");
  ASSERT_EQ(page.empty_znodes.size(), 1U);
  EXPECT_EQ(page.empty_znodes[0].path, "/a/abandoned");
  EXPECT_EQ(page.empty_znodes[0].created.time_since_epoch(),
            std::chrono::milliseconds(ensemble_.find("/a/abandoned")->created_ms));
}

TEST_F(SurveyTest, HostileTexts_ArePrintable) {
  lock("/a");
  const std::string tricky = std::string(200, 'x') + "\n\x1b[2J";
  ASSERT_EQ(ensemble_.create("/a/" + tricky), Status::ok);
  lock("/a/\x1b[2J");
  const SurveyPage page = all("/a");
  ASSERT_EQ(page.locks.size(), 2U);
  for (const std::string& name : page.locks[0].other_children) {
    EXPECT_LE(name.size(), 128U);
    for (const char c : name) EXPECT_GE(c, ' ');
  }
  EXPECT_EQ(page.locks[1].path, "/a/\x1b[2J") << "byte for byte";
}

TEST_F(SurveyTest, WrongArguments_Throw) {
  const auto error = [&](const std::string& root) {
    try {
      const Survey survey(*client_, root);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_TRUE(error("/a/").starts_with("survey /a/: the path ends with a slash"));
  EXPECT_TRUE(error("a").starts_with("survey a: the path does not begin with a slash"));
  EXPECT_EQ(error("/"), "");
  Survey survey(*client_, "/");
  try {
    static_cast<void>(survey.next(0));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.errc(), Errc::invalid_option);
  }
  EXPECT_EQ(servers_->requests(), 0U);
}

TEST_F(SurveyTest, ManyLocks_RequestsAreBounded) {
  directory("/a");
  for (int i = 0; i < 1'000; ++i) lock("/a/" + std::to_string(i));
  EXPECT_EQ(all("/a").locks.size(), 1'000U);
  EXPECT_EQ(servers_->count_of(OperationKind::list_children), 1'001U);
  EXPECT_EQ(servers_->count_of(OperationKind::get), 1'000U);
  EXPECT_EQ(std::ranges::max(servers_->rounds()), 100U);
  EXPECT_LT(servers_->rounds().size(), 40U);
}

// Replies of 2 MB or more: a list of many names, or the data of a contender of another program.
TEST_F(SurveyTest, HugeReply_NextRoundIsOneRequest) {
  directory("/a");
  for (const char* path : {"/a/1", "/a/2", "/a/3", "/a/4"}) directory(path);
  servers_->before = [&](const Operation& operation) -> std::optional<Reply> {
    if (path_of(operation) != "/a/1") return std::nullopt;
    Reply huge = status_only(Status::ok);
    huge.children.assign(100'001, "a-name-of-23-characters");
    return huge;
  };
  const SurveyPage page = all("/a", {.max_depth = 1, .requests_per_second = 0});
  EXPECT_EQ(page.too_deep, Paths{"/a/1"});
  EXPECT_EQ(servers_->rounds(), (std::vector<std::size_t>{1, 2, 1, 1}));
}

TEST_F(SurveyTest, HugeData_NextRoundIsOneRequest) {
  directory("/a");
  for (int i = 0; i < 6; ++i) contender("/a");
  bool is_first = true;
  servers_->before = [&](const Operation& operation) -> std::optional<Reply> {
    if (is_list(operation) || !std::exchange(is_first, false)) return std::nullopt;
    Reply huge = status_only(Status::ok);
    huge.data.assign(2'000'001, 'x');
    huge.data_length = 2'000'001;
    return huge;
  };
  EXPECT_EQ(all("/a").locks.size(), 1U);
  EXPECT_EQ(servers_->rounds(), (std::vector<std::size_t>{1, 2, 1, 2, 1}));
}

// Under AddressSanitizer and ThreadSanitizer, mallinfo2() returns zeros.
TEST_F(SurveyTest, RoundOfLargeData_NeedsLittleMemory) {
  const auto heap = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  directory("/a");
  for (int i = 0; i < 230; ++i) contender("/a");
  const std::size_t least = heap();
  std::size_t most = 0;
  servers_->before = [&](const Operation&) -> std::optional<Reply> {
    most = std::max(most, heap());
    const std::size_t gets = servers_->count_of(OperationKind::get);
    if (gets <= 126 || gets > 226) return std::nullopt;  // only in the round of 100 requests
    Reply large = status_only(Status::ok);
    large.data.assign(100'000, 'x');
    large.data_length = 100'000;
    return large;
  };
  const SurveyPage page = all("/a", {.max_waiting = 230, .requests_per_second = 0});
  ASSERT_EQ(page.locks.size(), 1U);
  EXPECT_EQ(page.locks[0].waiters.size(), 229U);
  EXPECT_EQ(std::ranges::max(servers_->rounds()), 100U);
  EXPECT_LT(most - least, 3'000'000U) << "of 10 MB";
}

}  // namespace
}  // namespace zklock::model
