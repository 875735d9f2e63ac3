// SPDX-License-Identifier: Apache-2.0
// to_string() and operator<< of the public types.
#include "zklock/version.h"

#include <iomanip>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "zklock/client.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/log.h"
#include "zklock/metrics.h"

namespace zklock {
namespace {

template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Checks that the values from `first` to `last` have names of their own, and other values none.
template <class Enum>
void expect_names(Enum first, Enum last) {
  const auto begin = static_cast<int>(first);
  const auto end = static_cast<int>(last) + 1;
  std::set<std::string_view> names;
  for (int value = begin; value < end; ++value) {
    const std::string_view name = to_string(static_cast<Enum>(value));
    EXPECT_NE(name, "unknown") << value;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(streamed(static_cast<Enum>(value)), name);
  }
  EXPECT_EQ(to_string(static_cast<Enum>(begin - 1)), "unknown");
  EXPECT_EQ(to_string(static_cast<Enum>(end)), "unknown");
}

TEST(ToString, Enumeration_NamesEachValue) {
  expect_names(Errc::invalid_path, Errc::bad_data);
  expect_names(HoldState::held, HoldState::lost);
  expect_names(LossReason::lease_expired, LossReason::closed);
  expect_names(LogLevel::debug, LogLevel::error);
  expect_names(ConnectionState::connected, ConnectionState::lost);
  expect_names(LockEvent::Kind::waiting, LockEvent::Kind::lost);
}

TEST(ToString, Enumeration_GivesTheEnumeratorsName) {
  EXPECT_EQ(to_string(Errc::would_deadlock), "would_deadlock");
  EXPECT_EQ(to_string(HoldState::suspended), "suspended");
  EXPECT_EQ(to_string(LossReason::max_hold), "max_hold");
  EXPECT_EQ(to_string(AcquireEnd::cancelled), "cancelled");
  EXPECT_EQ(to_string(static_cast<AcquireEnd>(4)), "unknown");
  EXPECT_EQ(to_string(HoldEnd::expired), "expired");
  EXPECT_EQ(to_string(static_cast<HoldEnd>(4)), "unknown");
  EXPECT_EQ(to_string(ConnectionState::reconnected), "reconnected");
  EXPECT_EQ(to_string(LockEvent::Kind::release_requested), "release_requested");
}

TEST(ToString, Token_HasBothPartsInDecimal) {
  EXPECT_EQ(to_string(FencingToken{0x3'0000'0005, 2}), "12884901893.2");
  EXPECT_EQ(to_string(FencingToken{}), "0.0");
  EXPECT_EQ(streamed(FencingToken{7, 0}), "7.0");
}

TEST(Stream, Width_PadsTheWholeText) {
  std::ostringstream out;
  out << std::hex << std::setw(6) << FencingToken{10, 1} << std::setw(6) << HoldState::held;
  EXPECT_EQ(out.str(), "  10.1  held");
}

TEST(Version, StringAndNumber_HaveTheThreeParts) {
  EXPECT_EQ(ZKLOCK_VERSION_STRING, std::to_string(ZKLOCK_VERSION_MAJOR) + "." +
                                       std::to_string(ZKLOCK_VERSION_MINOR) + "." +
                                       std::to_string(ZKLOCK_VERSION_PATCH));
  EXPECT_EQ(ZKLOCK_VERSION,
            ZKLOCK_VERSION_MAJOR * 10000 + ZKLOCK_VERSION_MINOR * 100 + ZKLOCK_VERSION_PATCH);
}

TEST(Stream, FailedExpectation_ShowsTheName) {
  EXPECT_EQ(::testing::PrintToString(Errc::closed), "closed");
  EXPECT_EQ(::testing::PrintToString(HoldState::lost), "lost");
}

}  // namespace
}  // namespace zklock
