// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zklock::core {

/// Kind of a child of a lock path. Its name alone decides.
///
/// | kind            | name                      | deleted                                         |
/// |-----------------|---------------------------|-------------------------------------------------|
/// | contender       | see parse_znode_name()    | by its contender, or with the session           |
/// | hold_marker     | see HoldMarker            | with its contender                              |
/// | delay_marker    | see DelayMarker           | with its contender; after a loss by another one |
/// | release_request | release-request-...       | by the call that made it, or with its session   |
/// | proclamation    | proclaimed-...            | with its contender                              |
/// | permit_count    | count                     | not by zklock, except with the path             |
/// | other           | all other names           | not by zklock                                   |
enum class ChildKind {
  contender,
  hold_marker,
  delay_marker,
  release_request,
  proclamation,
  permit_count,
  other
};

ChildKind kind_of(std::string_view child);

}  // namespace zklock::core
