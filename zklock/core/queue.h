// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/node_name.h"

namespace zklock::core {

/// What a list of children says about one contender.
///
/// | verdict  | meaning                                                            |
/// |----------|--------------------------------------------------------------------|
/// | first    | no contender arrived before it: it may be granted                  |
/// | behind   | it waits for `predecessor`, the nearest contender before it        |
/// | vanished | its own node is not in the list; never to be taken for a grant     |
struct Decision {
  enum class Verdict { first, behind, vanished };
  Verdict verdict = Verdict::vanished;
  std::string predecessor;   ///< of `behind`
  std::size_t position = 0;  ///< how many contenders stand before it
};

/// Pure. Children that are not contenders count for nothing.
Decision decide(std::span<const std::string> children, std::string_view own);

/// The contenders among `children`, in the order of arrival.
std::vector<NodeName> contenders(std::span<const std::string> children);

}  // namespace zklock::core
