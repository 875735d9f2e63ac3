// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/survey_delta.h"

namespace zklock::cli {

SurveyDelta survey_delta(std::span<const LockText> before, std::span<const LockText> now) {
  SurveyDelta delta;
  auto old = before.begin();
  for (const LockText& each : now) {
    for (; old != before.end() && old->path < each.path; ++old) delta.removed.push_back(old->path);
    const bool existed = old != before.end() && old->path == each.path;
    if (!existed || old->json != each.json) delta.changed.push_back(&each);
    if (existed) ++old;
  }
  for (; old != before.end(); ++old) delta.removed.push_back(old->path);
  return delta;
}

}  // namespace zklock::cli
