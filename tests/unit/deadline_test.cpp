// SPDX-License-Identifier: Apache-2.0
#define BOOST_CHRONO_HEADER_ONLY
#include "zklock/deadline.h"

#include <chrono>
#include <limits>
#include <ratio>
#include <string>
#include <type_traits>

#include <boost/chrono/duration.hpp>
#include <boost/chrono/system_clocks.hpp>
#include <gtest/gtest.h>

namespace zklock {
namespace {

using namespace std::chrono_literals;
using Point = Deadline::time_point;

static_assert(DurationLike<std::chrono::seconds>);
static_assert(DurationLike<std::chrono::duration<double, std::ratio<1, 3>>>);
static_assert(DurationLike<boost::chrono::milliseconds>);
static_assert(DurationLike<boost::chrono::duration<double>>);
static_assert(!DurationLike<int>);
static_assert(!DurationLike<Point>);
static_assert(TimePointLike<std::chrono::steady_clock::time_point>);
static_assert(TimePointLike<std::chrono::system_clock::time_point>);
static_assert(TimePointLike<boost::chrono::steady_clock::time_point>);
static_assert(TimePointLike<boost::chrono::system_clock::time_point>);
static_assert(!TimePointLike<std::chrono::seconds>);
static_assert(std::is_convertible_v<boost::chrono::seconds, Deadline>);
static_assert(std::is_convertible_v<boost::chrono::steady_clock::time_point, Deadline>);
static_assert(!std::is_convertible_v<int, Deadline>, "seconds? milliseconds?");
static_assert(!std::is_convertible_v<std::string, Deadline>);

static_assert(Deadline().is_never());
static_assert(Deadline::never() == Deadline());
static_assert(Deadline::never().at() == Point::max());
static_assert(Deadline::passed().has_passed(Point(0ns)));
static_assert(Deadline::passed() < Deadline::never());
static_assert(Deadline::after(Point(5s), 3s).at() == Point(8s));

constexpr Point kStart = Point(std::chrono::hours(1000));

TEST(Deadline, Duration_CountsFromTheStart) {
  EXPECT_EQ(Deadline::after(kStart, 1ns).at(), kStart + 1ns);
  EXPECT_EQ(Deadline::after(kStart, 1500us).at(), kStart + 1500us);
  EXPECT_EQ(Deadline::after(kStart, 24h).at(), kStart + 24h);
  EXPECT_EQ(Deadline::after(kStart, std::chrono::duration<double>(0.25)).at(), kStart + 250ms);
  EXPECT_EQ(Deadline::after(kStart, std::chrono::duration<float, std::ratio<60>>(0.5F)).at(),
            kStart + 30s);
  EXPECT_EQ(Deadline::after(kStart, boost::chrono::milliseconds(7)).at(), kStart + 7ms);
}

TEST(Deadline, ZeroOrNegative_HasPassed) {
  EXPECT_EQ(Deadline::after(kStart, 0s), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, -1ns), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, std::chrono::hours::min()), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, std::chrono::nanoseconds::min()), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, std::chrono::duration<double>(-0.0)), Deadline::passed());
}

TEST(Deadline, TooLong_IsNever) {
  EXPECT_TRUE(Deadline::after(kStart, std::chrono::hours::max()).is_never());
  EXPECT_TRUE(Deadline::after(kStart, std::chrono::seconds::max()).is_never());
  EXPECT_TRUE(Deadline::after(kStart, std::chrono::nanoseconds::max()).is_never());
  EXPECT_TRUE(Deadline::after(kStart, boost::chrono::hours::max()).is_never());
  EXPECT_TRUE(Deadline::after(Point::max(), 1h).is_never());
  EXPECT_TRUE(Deadline::after(kStart, Point::max() - kStart).is_never());
  EXPECT_FALSE(Deadline::after(kStart, Point::max() - kStart - 10s).is_never());
}

TEST(Deadline, FloatingPointExtremes_PassedOrNever) {
  using Seconds = std::chrono::duration<double>;
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(Deadline::after(kStart, Seconds(Limits::quiet_NaN())), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, Seconds(-Limits::infinity())), Deadline::passed());
  EXPECT_EQ(Deadline::after(kStart, Seconds(Limits::lowest())), Deadline::passed());
  EXPECT_TRUE(Deadline::after(kStart, Seconds(Limits::infinity())).is_never());
  EXPECT_TRUE(Deadline::after(kStart, Seconds(Limits::max())).is_never());
  EXPECT_EQ(Deadline::after(kStart, Seconds(Limits::denorm_min())).at(), kStart);
}

// The deadline lies between the two readings of the clock.
template <class Make>
void expect_in_an_hour(Make make, LeaseClock::duration tolerance) {
  const auto before = LeaseClock::now();
  const Deadline deadline = make();
  const auto after = LeaseClock::now();
  EXPECT_GE(deadline.at(), before + 1h - tolerance);
  EXPECT_LE(deadline.at(), after + 1h + tolerance);
}

TEST(Deadline, BareDuration_CountsFromNow) {
  expect_in_an_hour([]() -> Deadline { return 1h; }, 2ns);
  expect_in_an_hour([]() -> Deadline { return boost::chrono::hours(1); }, 2ns);
}

TEST(Deadline, ForeignTimePoint_ConvertedByDistanceFromNow) {
  // The clocks are read one after the other. A wall clock can be slewed meanwhile.
  const auto tolerance = 10s;
  expect_in_an_hour([]() -> Deadline { return std::chrono::steady_clock::now() + 1h; }, tolerance);
  expect_in_an_hour([]() -> Deadline { return std::chrono::system_clock::now() + 1h; }, tolerance);
  expect_in_an_hour(
      []() -> Deadline { return boost::chrono::steady_clock::now() + boost::chrono::hours(1); },
      tolerance);
  expect_in_an_hour(
      []() -> Deadline { return boost::chrono::system_clock::now() + boost::chrono::hours(1); },
      tolerance);
}

TEST(Deadline, ForeignExtremes_PassedOrFarAway) {
  EXPECT_EQ(Deadline(std::chrono::system_clock::time_point::min()), Deadline::passed());
  EXPECT_EQ(Deadline(std::chrono::steady_clock::time_point::min()), Deadline::passed());
  EXPECT_EQ(Deadline(std::chrono::system_clock::time_point()), Deadline::passed());
  // The deadline is centuries away, so no timer is set for it.
  const Point far = Point(Point::max().time_since_epoch() / 2);
  EXPECT_GT(Deadline(std::chrono::system_clock::time_point::max()).at(), far);
  EXPECT_GT(Deadline(std::chrono::steady_clock::time_point::max()).at(), far);
}

TEST(Deadline, AtItsTime_HasPassedAndNotBefore) {
  const Deadline deadline(kStart);
  EXPECT_FALSE(deadline.has_passed(kStart - 1ns));
  EXPECT_TRUE(deadline.has_passed(kStart));
  EXPECT_TRUE(deadline.has_passed(kStart + 1ns));
  EXPECT_FALSE(Deadline::never().has_passed(Point::max() - 1ns));
}

}  // namespace
}  // namespace zklock
