// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/queue.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace zklock::core {
namespace {

/// As NodeName::before, on names that were not copied.
struct Place {
  Sequence sequence;
  std::string_view text;
  friend auto operator<=>(const Place&, const Place&) = default;
};

}  // namespace

Decision decide(std::span<const std::string> children, std::string_view own) {
  Decision decision;
  const auto own_sequence = parse_sequence(own);
  if (!own_sequence) return decision;
  const Place own_place{*own_sequence, own};

  bool seen = false;
  std::optional<Place> nearest;
  for (const std::string& child : children) {
    if (child == own) {
      seen = true;
      continue;
    }
    const auto sequence = parse_sequence(child);
    if (!sequence) continue;
    const Place place{*sequence, child};
    if (!(place < own_place)) continue;
    ++decision.position;
    if (!nearest || *nearest < place) nearest = place;
  }

  if (!seen) return {};
  if (!nearest) {
    decision.verdict = Decision::Verdict::first;
    return decision;
  }
  decision.verdict = Decision::Verdict::behind;
  decision.predecessor = nearest->text;
  return decision;
}

std::vector<NodeName> contenders(std::span<const std::string> children) {
  std::vector<NodeName> result;
  result.reserve(children.size());
  for (const std::string& child : children) {
    if (auto name = NodeName::parse(child)) result.push_back(std::move(*name));
  }
  std::sort(result.begin(), result.end(),
            [](const NodeName& a, const NodeName& b) { return a.before(b); });
  return result;
}

}  // namespace zklock::core
