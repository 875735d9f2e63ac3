// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "zklock/core/session.h"
#include "zklock/error.h"

namespace zklock::core {

/// A request or notification that the driver carries out. The comment of each kind says what `text`
/// and `sibling` are; otherwise they are empty.
struct AcquireEffect {
  enum class Kind {
    /// Create a contender's znode with the attempt `text` in its data. Then, if counts_children(),
    /// count the children; with a shared permit count, do what `list` says instead. attempt()
    /// returns `text` until the reply. The driver may delay this effect; then it may call
    /// on_create_withdrawn().
    create,
    /// In one transaction: delete the own znode and create one with the attempt `text` in its data.
    move,
    create_parents,
    check_parent,   ///< a quorum operation on the lock path
    list,           ///< with a shared count, then get count_node
    seed_count,     ///< create the child count_node with data `text`
    inspect,        ///< get the child `text`
    watch,          ///< get and watch the child `text`
    unwatch,        ///< remove all watches set by `watch`
    check_own,      ///< quorum operation; verifies the own znode's czxid
    remove_parent,  ///< delete empty path, or recreate it with `text`
    skip,           ///< create and delete `text`, in one transaction
    /// Delete the children `text` and `sibling` (if not empty) in the background, until that is
    /// confirmed.
    remove_node,
    mark,   ///< create child `text` if the own znode exists
    clear,  ///< delete child `text` if the own znode exists
    /// Call on_delay_over() when every marker of orphans() has been known for its length, unless a
    /// create comes first. For a single attempt, call on_delay_lasts() if that is not yet so.
    delay,
    pause,    ///< call on_resume() a little later
    abandon,  ///< requests not yet sent may be dropped
    /// The search for the znode of the attempt `text` found none. The contender never claims that
    /// znode, even if the create is executed later.
    not_created,
    grant,  ///< it holds: own_name(), token(), session()
    fail,   ///< no grant: `error`, cause `text`; emitted once
  };
  Kind kind;
  std::string text = {};
  SessionId session = {};  ///< session of the request; 0: the current
  Errc error = Errc::server_error;
  std::string sibling = {};
};

using AcquireEffects = std::vector<AcquireEffect>;

}  // namespace zklock::core
