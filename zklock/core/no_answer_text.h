// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "zklock/core/session.h"

namespace zklock::core {

/// Returns the cause of an error: no server has answered for that long. `problem`: what prevents a
/// connection; it may be empty.
inline std::string no_server_answered(Duration waited, std::string_view problem) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  std::string text = "no server answered within " + std::to_string(ms) + " ms";
  if (!problem.empty()) text.append(": ").append(problem);
  return text;
}

}  // namespace zklock::core
