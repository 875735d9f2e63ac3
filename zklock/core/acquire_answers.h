// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

// The replies to the requests of the acquire machine, reduced to the fields that it reads.
namespace zklock::core {

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
/// `path_czxid`: the czxid of the lock path. If it is newer than the own znode, the path was recreated.
/// Then the own znode no longer exists. A child of its name is another contender's.
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

}  // namespace zklock::core
