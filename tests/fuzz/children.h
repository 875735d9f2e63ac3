// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"

namespace zklock::fuzz {

/// Returns a small sequence number, so that collisions happen, or one at the end of the counter.
inline core::Sequence choose_sequence(Choices& choices) {
  using Limits = std::numeric_limits<std::int32_t>;
  switch (const unsigned which = choices.byte()) {
    case 255: return {Limits::max()};
    case 254: return {Limits::min()};
    case 253: return {core::kFirstUnusableSequence.value - 1};
    case 252: return core::kFirstUnusableSequence;
    case 251: return {-1'000'000'000};
    case 250: return {static_cast<std::int32_t>(choices.byte() << 23U)};
    default: return {static_cast<std::int32_t>(which % 12)};
  }
}

/// Returns a count of permits, or an ageing.
inline std::int32_t choose_count(Choices& choices) {
  const unsigned which = choices.byte();
  return which == 255 ? std::numeric_limits<std::int32_t>::max()
                      : static_cast<std::int32_t>(which % 6) + 1;
}

/// Returns a name of any kind that can occur below a lock path.
inline std::string choose_child(Choices& choices) {
  std::string prefix;
  switch (choices.below(14)) {
    case 0:
    case 1: prefix = core::kLockPrefix; break;
    case 2: prefix = core::kWritePrefix; break;
    case 3: prefix = core::kReadPrefix; break;
    case 4: prefix = core::permits_prefix(choose_count(choices), 0); break;
    case 5: {
      const auto permits = choose_count(choices);
      prefix = core::permits_prefix(permits, choose_count(choices));
      break;
    }
    case 6:
      prefix = core::weight_prefix(static_cast<std::int32_t>(choices.below(10)) + 1, 0);
      break;
    case 7: {
      const auto weight = static_cast<std::int32_t>(choices.below(10)) + 1;
      prefix = core::weight_prefix(weight, choose_count(choices));
      break;
    }
    case 8: prefix = "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-"; break;
    case 9: prefix = "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__rlock__"; break;
    case 10: prefix = "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__"; break;
    case 11: return std::string(core::kCountNode);
    case 12: return std::string(choices.text());
    default: {
      const std::chrono::milliseconds length(choices.byte() + 1);
      const FencingToken token{static_cast<std::int64_t>(choices.below(8)) + 1};
      return core::DelayMarker::make(length, token, choose_sequence(choices)).name;
    }
  }
  return core::ZnodeName::make(prefix, choose_sequence(choices)).text;
}

/// Returns distinct names, as a server does.
inline std::vector<std::string> choose_children(Choices& choices, std::size_t most) {
  std::vector<std::string> children;
  for (std::size_t left = choices.below(most + 1); left > 0; --left) {
    std::string child = choose_child(choices);
    bool known = false;
    for (const std::string& other : children) known = known || other == child;
    if (!known) children.push_back(std::move(child));
  }
  return children;
}

}  // namespace zklock::fuzz
