// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

/// The end of one candidacy of `zklock elect`.
struct CandidacyEnd {
  bool was_started = false;  ///< the command
  int exit_code = 0;
  std::optional<int> signal = {};  ///< last received INT, TERM or QUIT; else HUP
  Duration held_for{};             ///< until the last process has ended
};

/// Decides whether `zklock elect --repeat` stands for election again, and after which pause.
///
/// | end of the candidacy                                         | again |
/// |--------------------------------------------------------------|-------|
/// | INT, TERM or QUIT was received                               | no    |
/// | HUP was received, and the command died of it                 | no    |
/// | the command was started                                      | yes   |
/// | it was not: no server (69), no process (71), lock lost (79)  | yes   |
/// | it was not, for another reason                               | no    |
///
/// The pause is one second after a leadership of ten seconds or more. After each shorter one it
/// doubles, up to a minute. If no server answered, it is one second and does not double. The
/// attempt itself took long, and after an outage there may be no leader.
///
/// Thread-safety: none; pure.
class CandidacyRepeat {
 public:
  /// Returns the pause before the next candidacy; std::nullopt if there is none.
  std::optional<Duration> next(const CandidacyEnd& end) noexcept;

 private:
  Duration pause_ = std::chrono::seconds(1);
};

}  // namespace zklock::cli
