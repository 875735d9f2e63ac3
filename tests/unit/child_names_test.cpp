// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/child_nodes.h"
#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core {
namespace {

TEST(ChildKind, EveryName_HasOneKind) {
  const std::map<std::string, ChildKind> kinds{
      {"lock-0000000042", ChildKind::contender},
      {"__WRIT__0000000042", ChildKind::contender},
      {"permits-2-of-4-0000000042", ChildKind::contender},
      {"weight-7-0000000042", ChildKind::contender},
      {HoldMarker{1'700'000'000'123, {42}}.name(), ChildKind::hold_marker},
      {DelayMarker::make(std::chrono::milliseconds(1), {7}, {42}).name, ChildKind::delay_marker},
      {release_request_node({42}), ChildKind::release_request},
      {proclamation_node({42}), ChildKind::proclamation},
      {"count", ChildKind::permit_count},
      {"count-0000000042", ChildKind::other},
      {"delay-0-7-0000000042", ChildKind::other},
      {"held-7-42", ChildKind::other},
      {"config", ChildKind::other},
      {"", ChildKind::other}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(kind_of(name), kind) << name;
}

/// Returns the name as the library writes it, from the numbers that it read in it.
std::string written_again(const std::string& name) {
  switch (kind_of(name)) {
    case ChildKind::contender: {
      const ParsedZnodeName read = *parse_znode_name(name);
      std::string prefix(read.prefix);
      if (read.access == Access::permits) prefix = permits_prefix(read.permits, read.named_total);
      if (read.access == Access::weighted) prefix = weight_prefix(read.weight, read.ageing);
      return ZnodeName::make(prefix, read.sequence).text;
    }
    case ChildKind::hold_marker: return HoldMarker::parse(name)->name();
    case ChildKind::delay_marker: {
      const DelayMarker read = *DelayMarker::parse(name);
      const std::string token = name.substr(name.find('-', std::string("delay-").size()) + 1);
      return DelayMarker::make(read.length, {std::stoll(token)}, read.owner_sequence).name;
    }
    default: return name;
  }
}

// Two texts of one number would be two znodes that are taken for one.
TEST(ChildNames, OneByteChanged_IsOtherOrWrittenTheSame) {
  const std::string bytes("0192x-+ \0", 9);
  for (const std::string name : {
           "lock-1234567890",
           "lock--1234567890",
           "__WRIT__0000000042",
           "__READ__0000000042",
           "permits-12-0000000042",
           "permits-12-of-14-0000000042",
           "weight-7-0000000042",
           "weight-7-age-16-0000000042",
           "held-1700000000123-0000000042",
           "held-0-0000000000",
           "held-9223372036854775807-2147483647",
           "delay-2500-4294967342-0000000042",
           "delay-1-1-0000000000",
           "delay-86400000-9223372036854775807-2147483647",
           "proclaimed-0000000042",
       }) {
    EXPECT_NE(kind_of(name), ChildKind::other) << name;
    EXPECT_EQ(written_again(name), name);
    for (std::size_t at = 0; at <= name.size(); ++at) {
      const std::string before = name.substr(0, at);
      const std::string after = name.substr(std::min(at + 1, name.size()));
      EXPECT_EQ(written_again(before + after), before + after);
      for (const char byte : bytes) {
        const std::string replaced = before + byte + after;
        EXPECT_EQ(written_again(replaced), replaced);
        const std::string inserted = before + byte + name.substr(at);
        EXPECT_EQ(written_again(inserted), inserted);
      }
    }
  }
}

TEST(ChildNames, NumbersOutOfRange_AreOther) {
  for (const char* name :
       {"lock-2147483648", "lock--2147483649", "lock--0000000000", "lock-42",
        "permits-0-0000000007", "permits-2147483648-0000000007", "permits-1-of-0-0000000007",
        "permits-1-of-0000000007", "held-9223372036854775808-0000000042", "held-5-2147483648",
        "held-5--0000000042", "held--5-0000000042", "delay-0-7-0000000042",
        "delay-86400001-7-0000000042", "delay-5-99999999999999999999-0000000042",
        "delay-5-7-2147483648", "delay-5-7--0000000042"}) {
    EXPECT_EQ(kind_of(name), ChildKind::other) << name;
  }
}

// Curator sorts by the text behind "lock-", or by the whole name without it.
TEST(ChildNames, MadeForANumber_IsBehindContendersOfCurator) {
  EXPECT_EQ(release_request_node({42}), "release-request-0000000042");
  EXPECT_EQ(proclamation_node({42}), "proclaimed-0000000042");
  for (const std::int32_t number : {0, 42, 2'147'483'647, -1, -2'147'483'647}) {
    for (const std::string& name : {release_request_node({number}), proclamation_node({number})}) {
      EXPECT_FALSE(parse_znode_name(name)) << name;
      EXPECT_EQ(name.find(kLockPrefix), std::string::npos) << name;
      EXPECT_GT(name, "9999999999");
    }
  }
}

// ---- delay markers ------------------------------------------------------------------------------

std::vector<std::string> names(const std::vector<DelayMarker>& markers) {
  std::vector<std::string> result;
  for (const auto& marker : markers) result.push_back(marker.name);
  return result;
}

TEST(DelayMarker, ContenderMissing_IsAnOrphan) {
  using Names = std::vector<std::string>;
  const std::string of_five = DelayMarker::make(std::chrono::seconds(1), {70}, {5}).name;
  const std::string of_six = DelayMarker::make(std::chrono::seconds(2), {71}, {6}).name;
  EXPECT_EQ(names(orphans(Names{})), Names{});
  EXPECT_EQ(names(orphans(Names{"lock-0000000005", "count"})), Names{});
  EXPECT_EQ(names(orphans(Names{of_five, "lock-0000000005"})), Names{});
  EXPECT_EQ(names(orphans(Names{"lock-0000000005", of_five, of_six})), Names{of_six});
  EXPECT_EQ(names(orphans(Names{of_five, "lock-0000000007", of_six})), (Names{of_five, of_six}));
  EXPECT_EQ(names(orphans(Names{of_five, "__READ__0000000005"})), Names{})
      << "a writer that goes over to reading";
  EXPECT_EQ(names(orphans(Names{of_five, "release-request-0000000005"})), Names{of_five});
}

// ---- the value that a leader proclaims ----------------------------------------------------------

TEST(Proclamation, AnyBytes_AreReadBackWithTheLeader) {
  using namespace std::string_literals;
  for (const std::string& value : {""s, "10.0.0.7:80"s, "two\nlines\n"s, "\0\xff\n"s, "17\nx"s}) {
    const auto said = Proclamation::parse(Proclamation{{4'294'967'311}, value}.encode());
    ASSERT_TRUE(said);
    EXPECT_EQ(said->leader.zxid, 4'294'967'311);
    EXPECT_EQ(said->value, value);
  }
}

TEST(Proclamation, OtherData_IsNotParsed) {
  for (const char* text :
       {"", "zklock 1", "zklock 1 proclaimed ", "zklock 1 proclaimed 7", "zklock 1 proclaimed \nx",
        "zklock 1 proclaimed x\nx", "zklock 1 proclaimed 0\nx", "zklock 1 proclaimed -7\nx",
        "zklock 1 proclaimed 7 \nx", "zklock 2 proclaimed 7\nx", "10.0.0.7:80\n",
        "zklock 1 proclaimed 99999999999999999999\nx"}) {
    EXPECT_FALSE(Proclamation::parse(text)) << text;
  }
}

}  // namespace
}  // namespace zklock::core
