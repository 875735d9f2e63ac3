// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/container/small_vector.hpp>

#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

// The answers that the acquire machine takes: replies, reduced to the fields that it reads.

/// `name` and `token`: the name and the czxid of the created znode.
struct CreatedAnswer {
  Status status;
  SessionId session;
  std::string_view name;
  FencingToken token;
  std::string_view detail;  ///< text for errors, in all answers
  bool first = false;       ///< SequenceHint shows that the znode is first
};
/// `pzxid`: the zxid of the last create or delete of a child.
struct CountedAnswer {
  Status status;
  SessionId session;
  Zxid pzxid;
  int children;
};
struct WatchedAnswer {
  Status status;
  FencingToken token;
  std::string_view data;
  std::string_view detail;
};
/// The reply to the get of kCountNode.
struct PermitsAnswer {
  Status status = Status::ok;
  SessionId session = {};
  std::string_view data = {};
  std::string_view detail = {};
};
/// `path_czxid`: the czxid of the lock path. If it is newer than the contender's znode, the path
/// was recreated: that znode is deleted, and a child of its name is another's.
struct ListedAnswer {
  Status status;
  Zxid path_czxid;
  std::span<const std::string> children;
  std::string_view detail;
  PermitsAnswer permits = {};   ///< with a shared permit count
  Sequence next_sequence = {};  ///< of the next child
};
struct InspectedAnswer {
  Status status;
  std::string_view data;
  SessionId ephemeral_owner;
  FencingToken token;
  std::string_view detail;
};

/// The reply to a request that returns no data.
struct DoneAnswer {
  Status status;
  std::string_view detail;
};

// The effects that it returns.

/// A request or notification that the driver carries out. The comment of each kind says what `text`
/// and `sibling` are; otherwise they are empty.
struct AcquireEffect {
  enum class Kind {
    /// Create a contender's znode with the attempt `text` in its data. If is_counting_children() is
    /// true, then count the children, or carry out `list` if the permit count is shared. The driver
    /// may delay this effect. If `drop_unsent` comes meanwhile, the driver calls
    /// on_create_withdrawn() and sends nothing.
    create,
    /// In one transaction: delete its own znode and create one with the attempt `text` in its data.
    move,
    create_parents,
    check_path,    ///< quorum check of the lock path
    list,          ///< list; with a shared count, then get kCountNode
    create_count,  ///< create the child kCountNode with data `text`
    inspect,       ///< get the child `text`
    watch,         ///< get and watch the child `text`
    unwatch,       ///< remove all watches set by `watch`
    check_own,     ///< quorum check of its own znode and czxid
    /// Delete the lock path, which must have no child except kCountNode. If `text` is not empty, it
    /// is kCountNode: delete and recreate that child and the path, in one transaction.
    remove_path,
    /// Delete the children `text` and `sibling` (if not empty) in the background. Repeat this until
    /// it is confirmed. If `reads_first` is set, read the znode first: it may be another
    /// contender's.
    remove_node,
    mark,   ///< create child `text` if its own znode exists
    clear,  ///< delete child `text` if its own znode exists
    /// Call on_delay_over() when this client has known each orphaned marker for the length that the
    /// marker names. In a single attempt, do not wait: call AcquireFsm::withdraw(). A later
    /// `create` cancels this effect.
    delay,
    pause,        ///< call on_pause_over() a little later
    drop_unsent,  ///< drop the requests not yet sent, if possible
    /// Delete the znode of the attempt `text` if it appears later. The search for it found none,
    /// and the contender never claims it.
    remove_late_create,
    grant,  ///< the contender holds the lock by its node()
    fail,   ///< no grant: `error`, cause `text`; emitted once
  };
  Kind kind;
  std::string text = {};
  SessionId session = {};  ///< session of the request; 0: the current
  Errc error = Errc::server_error;
  std::string sibling = {};
  bool reads_first = false;
};

/// In most cases there is one effect, which is stored in the object itself.
using AcquireEffects = boost::container::small_vector<AcquireEffect, 1>;

}  // namespace zklock::core
