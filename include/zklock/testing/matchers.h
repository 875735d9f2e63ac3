// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest-matchers.h>

#include "zklock/error.h"
#include "zklock/health.h"
#include "zklock/hold.h"
#include "zklock/participant.h"

/// @file
/// Matchers for EXPECT_THAT() of GoogleMock. Their names are in the style of GoogleMock.

// NOLINTBEGIN(readability-identifier-naming)
namespace zklock::testing {

namespace detail {

/// Matches a Hold, a CompositeHold or a Leadership by its state.
class StateMatcher {
 public:
  using is_gtest_matcher = void;

  StateMatcher(HoldState state, bool is_wanted) noexcept : state_(state), is_wanted_(is_wanted) {}
  template <class Held>
  bool MatchAndExplain(const Held& held, ::testing::MatchResultListener* listener) const {
    const HoldState state = held.state();
    *listener << "which is " << to_string(state);
    if constexpr (requires { held.loss_reason(); }) {
      if (const auto reason = held.loss_reason()) *listener << " (" << to_string(*reason) << ")";
    }
    return (state == state_) == is_wanted_;
  }
  void DescribeTo(std::ostream* out) const { describe(*out, is_wanted_); }
  void DescribeNegationTo(std::ostream* out) const { describe(*out, !is_wanted_); }

 private:
  void describe(std::ostream& out, bool is_wanted) const {
    out << (is_wanted ? "is " : "is not ") << to_string(state_);
  }

  HoldState state_;
  bool is_wanted_;
};

/// Matches a hold that is empty.
class EmptyHoldMatcher {
 public:
  using is_gtest_matcher = void;

  template <class Held>
  bool MatchAndExplain(const Held& hold, ::testing::MatchResultListener* listener) const {
    const bool is_empty = !static_cast<bool>(hold);
    if (!is_empty) *listener << "which is " << to_string(hold.state());
    return is_empty;
  }
  void DescribeTo(std::ostream* out) const { *out << "is an empty hold"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not an empty hold"; }
};

/// Matches an Error by its code.
class ErrcMatcher {
 public:
  using is_gtest_matcher = void;

  explicit ErrcMatcher(Errc code) noexcept : code_(code) {}
  bool MatchAndExplain(const Error& error, ::testing::MatchResultListener* listener) const {
    *listener << "which is \"" << error.what() << "\"";
    return error.errc() == code_;
  }
  void DescribeTo(std::ostream* out) const { *out << "has the code " << to_string(code_); }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not have the code " << to_string(code_);
  }

 private:
  Errc code_;
};

/// Matches a callable that throws an Error with a code. Other exceptions pass through.
class ThrowsErrcMatcher {
 public:
  using is_gtest_matcher = void;

  explicit ThrowsErrcMatcher(Errc code) noexcept : code_(code) {}
  template <class Call>
  bool MatchAndExplain(const Call& call, ::testing::MatchResultListener* listener) const {
    try {
      static_cast<void>(call());
    } catch (const Error& error) {
      *listener << "which throws \"" << error.what() << "\"";
      return error.errc() == code_;
    }
    *listener << "which does not throw";
    return false;
  }
  void DescribeTo(std::ostream* out) const { *out << "throws " << to_string(code_); }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not throw " << to_string(code_);
  }

 private:
  Errc code_;
};

/// Matches a Participant that holds, by its application or its host.
class HoldsAsMatcher {
 public:
  using is_gtest_matcher = void;

  explicit HoldsAsMatcher(std::string name) : name_(std::move(name)) {}
  bool MatchAndExplain(const Participant& participant,
                       ::testing::MatchResultListener* listener) const {
    *listener << "which is " << to_string(participant);
    return participant.holds && (participant.application == name_ || participant.host == name_);
  }
  void DescribeTo(std::ostream* out) const { *out << "holds as " << name_; }
  void DescribeNegationTo(std::ostream* out) const { *out << "does not hold as " << name_; }

 private:
  std::string name_;
};

/// Matches a Health without a problem.
class HealthyMatcher {
 public:
  using is_gtest_matcher = void;

  bool MatchAndExplain(const Health& health, ::testing::MatchResultListener* listener) const {
    *listener << "which is " << to_string(health.state);
    for (const HealthProblem& problem : health.problems) {
      *listener << ", " << to_string(problem.kind);
    }
    return health.state == HealthState::ok;
  }
  void DescribeTo(std::ostream* out) const { *out << "is healthy"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not healthy"; }
};

}  // namespace detail

/// Match a Hold, a CompositeHold or a Leadership by its state().
inline auto IsHeld() {
  return detail::StateMatcher(HoldState::held, true);
}
/// Matches a hold that is suspended.
inline auto IsSuspended() {
  return detail::StateMatcher(HoldState::suspended, true);
}
/// Matches a hold that is lost.
inline auto IsLost() {
  return detail::StateMatcher(HoldState::lost, true);
}
/// Matches a hold that is not lost.
inline auto IsValid() {
  return detail::StateMatcher(HoldState::lost, false);
}
/// Matches an empty Hold or CompositeHold: the call ended without the lock.
inline auto IsEmptyHold() {
  return detail::EmptyHoldMatcher();
}
/// Matches an Error with this code.
inline auto HasErrc(Errc code) {
  return detail::ErrcMatcher(code);
}
/// Matches a callable, for example a lambda, that throws an Error with this code.
inline auto ThrowsErrc(Errc code) {
  return detail::ThrowsErrcMatcher(code);
}
/// Matches a Participant that holds, and whose application or host has this name.
inline auto HoldsAs(std::string name) {
  return detail::HoldsAsMatcher(std::move(name));
}
/// Matches a Health without a problem.
inline auto IsHealthy() {
  return detail::HealthyMatcher();
}

}  // namespace zklock::testing
// NOLINTEND(readability-identifier-naming)
