// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/child_kind.h"

#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/permit_count_data.h"
#include "zklock/core/proclamation.h"
#include "zklock/core/release_request_data.h"
#include "zklock/core/znode_name.h"

namespace zklock::core {

ChildKind kind_of(std::string_view child) {
  if (parse_znode_name(child)) return ChildKind::contender;
  if (HoldMarker::parse(child)) return ChildKind::hold_marker;
  if (DelayMarker::parse(child)) return ChildKind::delay_marker;
  if (child.starts_with(kReleaseRequestPrefix)) return ChildKind::release_request;
  if (child.starts_with(kProclamationPrefix)) return ChildKind::proclamation;
  if (child == kCountNode) return ChildKind::permit_count;
  return ChildKind::other;
}

}  // namespace zklock::core
