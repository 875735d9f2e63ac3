// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock::testing {

/// The requests that a fault can select. ZooKeeper's name of `remove` is delete, of `get` getData,
/// and of `list` getChildren. Heartbeats, announced releases and guarded transactions are all
/// `multi`. A create of parents is `create` too. If the creates of a lock path and of the lock
/// znode are sent together, a fault hits only the second one.
enum class RequestKind { any, create, remove, exists, get, list, multi, sync };

}  // namespace zklock::testing
