// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::cli {

/// A lock as the page receives it: the text of json::lock_fields().
struct LockText {
  std::string path;
  std::string json;

  friend bool operator==(const LockText&, const LockText&) = default;
};

/// The difference between two surveys. It refers to their texts.
struct SurveyDelta {
  std::vector<const LockText*> changed;   ///< new locks, or another text
  std::vector<std::string_view> removed;  ///< paths

  bool is_empty() const noexcept { return changed.empty() && removed.empty(); }
};

/// Returns the changes that lead from `before` to `now`. Both are in the order of their paths,
/// which is also the order of the result. Pure.
SurveyDelta survey_delta(std::span<const LockText> before, std::span<const LockText> now);

}  // namespace zklock::cli
