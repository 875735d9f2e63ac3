// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/json_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "locks.h"

namespace zklock::cli {
namespace {

using namespace std::chrono_literals;
using testing::add_holder;
using testing::add_waiting;
using testing::busy_lock;
using testing::contender;
using testing::foreign;
using testing::holder;
using testing::kNow;
using testing::lock_at;
using Json = nlohmann::json;

bool is_one_ascii_line(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

TEST(Json, Lock_HasItsFields) {
  const auto text = json::lock(busy_lock("/x"), nullptr, kNow);
  const Json lock = Json::parse(text);
  EXPECT_TRUE(text.starts_with(R"({"schema":"zklock.lock/1",)"));
  EXPECT_EQ(lock["path"], "/x");
  EXPECT_EQ(lock["kind"], "mutex");
  EXPECT_EQ(lock["holders"].size(), 1U);
  EXPECT_EQ(lock["queue"].size(), 1U);
  EXPECT_EQ(lock["waiting"], 1);
  EXPECT_EQ(lock["queue_cut"], false);
  EXPECT_EQ(lock["permits"], nullptr);
  EXPECT_EQ(lock["cycle"], "none");
  EXPECT_EQ(lock["cycle_paths"], Json::array());
  EXPECT_EQ(lock["as_of_ms"], 500'000LL * 3'600'000);
}

TEST(Json, Contender_RoundTrip64BitTokens) {
  auto lock = lock_at("/x");
  auto each = holder("lock-0000000001", 1s);
  each.token = {.zxid = std::numeric_limits<std::int64_t>::max(), .grant_index = 7};
  each.session_id = -1;
  add_holder(lock, each);
  const Json holder = Json::parse(json::lock_fields(lock, nullptr))["holders"][0];
  EXPECT_EQ(holder["token"], "9223372036854775807.7");
  EXPECT_EQ(holder["session"], "0xffffffffffffffff");
}

TEST(Json, UnknownValues_AreNull) {
  auto lock = lock_at("/x");
  add_holder(lock, foreign("lock-0000000001"));
  const Json holder = Json::parse(json::lock_fields(lock, nullptr))["holders"][0];
  for (const char* name : {"held_since_ms", "owner", "host", "pid", "application", "label",
                           "thread", "note", "permits", "weight"}) {
    ASSERT_TRUE(holder.contains(name)) << name;
    EXPECT_TRUE(holder[name].is_null()) << name;
  }
  EXPECT_EQ(holder["library"], "unknown");
}

TEST(Json, OnlyHoldingCandidate_IsLeader) {
  auto lock = busy_lock("/x");
  lock.waiters.front().is_candidate = true;
  Json fields = Json::parse(json::lock_fields(lock, nullptr));
  EXPECT_EQ(fields["holders"][0]["leader"], false) << "a mutex";
  EXPECT_EQ(fields["queue"][0]["candidate"], true);
  EXPECT_EQ(fields["queue"][0]["leader"], false) << "it waits";
  lock.state.holders.front().is_candidate = true;
  fields = Json::parse(json::lock_fields(lock, nullptr));
  EXPECT_EQ(fields["holders"][0]["leader"], true);
}

TEST(Json, HostileText_IsOneAsciiLine) {
  auto lock = lock_at("/x\n\xff<script>\xe2\x80\xae");
  auto each = holder("lock-0000000001", 1s);
  each.note = "\"\\\x1b</script>\xc3\xa4";
  add_holder(lock, each);
  const auto text = json::lock(lock, nullptr, kNow);
  EXPECT_TRUE(is_one_ascii_line(text)) << text;
  EXPECT_EQ(Json::parse(text)["holders"][0]["note"], each.note);
}

TEST(Json, LongQueue_IsMarkedAsCut) {
  auto lock = busy_lock("/x");
  lock.state.waiting = 500;
  const Json fields = Json::parse(json::lock_fields(lock, nullptr));
  EXPECT_EQ(fields["waiting"], 500);
  EXPECT_EQ(fields["queue_cut"], true);
  EXPECT_EQ(fields["holders_cut"], false);
}

TEST(Json, NotReadFields_AreNull) {
  const auto lock = busy_lock("/x");
  const Json one = Json::parse(json::lock(lock, nullptr, kNow, json::Known::one_lock));
  EXPECT_EQ(one["cycle"], nullptr);
  EXPECT_EQ(one["cycle_paths"], nullptr);
  EXPECT_EQ(one["delay"], false);
  const Json state = Json::parse(json::lock(lock, nullptr, kNow, json::Known::state));
  for (const char* name :
       {"queue", "queue_cut", "permits", "foreign", "next_sequence", "cycle", "cycle_paths"}) {
    ASSERT_TRUE(state.contains(name)) << name;
    EXPECT_EQ(state[name], nullptr) << name;
  }
  EXPECT_EQ(state["holders"].size(), 1U);
  EXPECT_EQ(state["waiting"], 1);
  EXPECT_EQ(Json::parse(json::lock(lock_at("/x"), nullptr, kNow))["kind"], nullptr);
}

TEST(Json, HostilePidAndUnreadableTime_AreNull) {
  auto lock = lock_at("/x");
  auto each = holder("lock-0000000001", 1s);
  each.pid = (std::int64_t{1} << 53) + 1;
  each.since = {};
  add_holder(lock, each);
  const Json holder = Json::parse(json::lock_fields(lock, nullptr))["holders"][0];
  EXPECT_EQ(holder["pid"], nullptr);
  EXPECT_EQ(holder["since_ms"], nullptr);
}

TEST(Json, Locks_AreOneDocument) {
  Snapshot snapshot;
  snapshot.root = "/";
  EXPECT_EQ(Json::parse(json::locks(snapshot))["locks"], Json::array());
  snapshot.locks = {busy_lock("/x"), busy_lock("/y")};
  const Json document = Json::parse(json::locks(snapshot));
  ASSERT_EQ(document["locks"].size(), 2U);
  EXPECT_EQ(document["locks"][1], Json::parse(json::lock_fields(busy_lock("/y"), nullptr)));
  EXPECT_EQ(document["complete"], true);
}

TEST(Json, Levels_HaveTheNamesOfTheGuide) {
  const auto level = [](Level each) {
    return Json::parse(json::doctor(each, "x", "t"))["level"].get<std::string>();
  };
  EXPECT_EQ(level(Level::notice), "notice");
  EXPECT_EQ(level(Level::warning), "warning");
  EXPECT_EQ(level(Level::failure), "failure");
}

TEST(Json, Semaphore_HasItsPermits) {
  auto lock = lock_at("/x");
  auto each = holder("permits-2-of-4-0000000001", 1s);
  each.access = Access::permits;
  each.permits = 2;
  add_holder(lock, each);
  lock.permits = 4;
  const Json fields = Json::parse(json::lock_fields(lock, nullptr));
  EXPECT_EQ(fields["permits"], (Json{{"count", 4}, {"held", 2}}));
  EXPECT_EQ(fields["holders"][0]["permits"], 2);
  ++lock.state.holding;
  const Json cut = Json::parse(json::lock_fields(lock, nullptr));
  EXPECT_EQ(cut["permits"], (Json{{"count", 4}, {"held", nullptr}}));
  EXPECT_EQ(cut["holders_cut"], true);
}

TEST(Json, Cycle_NamesItsPaths) {
  const CycleMark mark{.is_certain = true, .paths = {"/x", "/y"}};
  const Json fields = Json::parse(json::lock_fields(busy_lock("/x"), &mark));
  EXPECT_EQ(fields["cycle"], "certain");
  EXPECT_EQ(fields["cycle_paths"], (Json{"/x", "/y"}));
}

TEST(Json, EachDocument_BeginsWithItsSchema) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/x")};
  const Finding finding{
      .level = Level::warning, .kind = "held_long", .path = "/x", .text = "t", .paths = {"/x"}};
  EXPECT_TRUE(json::locks(snapshot).starts_with(R"({"schema":"zklock.locks/1",)"));
  EXPECT_TRUE(json::finding(finding).starts_with(R"({"schema":"zklock.finding/1",)"));
  EXPECT_TRUE(json::doctor(Level::ok, "names", "t").starts_with(R"({"schema":"zklock.doctor/1",)"));
  EXPECT_TRUE(
      json::release("/x", "", "free", 1ms, 0).starts_with(R"({"schema":"zklock.release/1",)"));
  EXPECT_TRUE(json::permits("/x", 4, 3, 2).starts_with(R"({"schema":"zklock.permits/1",)"));
  EXPECT_EQ(json::hold("/x", "lock-0000000001", "4294967297.0", "mutex", ""),
            R"({"schema":"zklock.hold/1","path":"/x","node":"lock-0000000001",)"
            R"("token":"4294967297.0","kind":"mutex","note":null})");
  const auto lock = busy_lock("/x");
  const auto line = json::lock(lock, nullptr, kNow, json::Known::state);
  const auto change = json::change(kNow, "state", &lock);
  EXPECT_TRUE(change.starts_with(R"({"schema":"zklock.change/1",)"));
  EXPECT_EQ(Json::parse(change)["lock"], Json::parse(line));
  EXPECT_EQ(Json::parse(json::change(kNow, "disconnected", nullptr))["lock"], nullptr);
}

}  // namespace
}  // namespace zklock::cli
