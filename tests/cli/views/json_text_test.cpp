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

namespace zklock::cli::testing {
namespace {

using Json = nlohmann::json;

bool is_one_ascii_line(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

/// Returns the object of this holder of a lock.
Json holder_fields(const Participant& each) {
  auto lock = lock_at("/x");
  add_holder(lock, each);
  return Json::parse(json::lock_fields(lock, nullptr))["holders"][0];
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
  EXPECT_EQ(lock["holders_cut"], false);
  EXPECT_EQ(lock["permits"], nullptr);
  EXPECT_EQ(lock["cycle"], "none");
  EXPECT_EQ(lock["cycle_paths"], Json::array());
  EXPECT_EQ(lock["as_of_ms"], 500'000LL * 3'600'000);
}

TEST(Json, HostileNumbers_AreExactOrNull) {
  auto each = holder("lock-0000000001", 1s);
  each.token = {.zxid = std::numeric_limits<std::int64_t>::max(), .grant_index = 7};
  each.session_id = -1;
  each.pid = (std::int64_t{1} << 53) + 1;
  each.since = {};
  const Json fields = holder_fields(each);
  EXPECT_EQ(fields["token"], "9223372036854775807.7");
  EXPECT_EQ(fields["session"], "0xffffffffffffffff");
  EXPECT_EQ(fields["pid"], nullptr);
  EXPECT_EQ(fields["since_ms"], nullptr);
}

TEST(Json, UnknownValues_AreNull) {
  const Json fields = holder_fields(foreign("lock-0000000001"));
  for (const char* name : {"held_since_ms", "owner", "host", "pid", "application", "label",
                           "thread", "note", "permits", "weight"}) {
    ASSERT_TRUE(fields.contains(name)) << name;
    EXPECT_TRUE(fields[name].is_null()) << name;
  }
  EXPECT_EQ(fields["library"], "unknown");
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

TEST(Json, EachDocument_BeginsWithItsSchema) {
  for (const std::string& text :
       {json::finding({}), json::doctor(Level::ok, "names", "t"),
        json::release("/x", "", "free", 1ms, 0), json::permits("/x", 4, 3, 2)}) {
    EXPECT_TRUE(text.starts_with(R"({"schema":"zklock.)")) << text;
  }
  EXPECT_EQ(Json::parse(json::hold("/x", "lock-1", "1.0", "mutex", ""))["note"], nullptr);
  const auto lock = busy_lock("/x");
  const auto line = json::lock(lock, nullptr, kNow, json::Known::state);
  const auto change = json::change(kNow, "state", &lock);
  EXPECT_TRUE(change.starts_with(R"({"schema":"zklock.change/1",)"));
  EXPECT_EQ(Json::parse(change)["lock"], Json::parse(line));
  EXPECT_EQ(Json::parse(json::change(kNow, "disconnected", nullptr))["lock"], nullptr);
}

}  // namespace
}  // namespace zklock::cli::testing
