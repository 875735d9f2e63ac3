// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/client/port/watch.h"
#include "zklock/core/znode_data.h"

namespace zklock::client {

/// The requests of the lock protocol. Paths are absolute, below the chroot.
namespace request {

/// Sends create2 (ephemeral, sequential). Reply: name, token, created_ms, session. If `counts` is
/// set, sends exists of the parent directly after it. Then the handler is called after both
/// operations are answered, and the reply also has `parent`.
///
/// If `makes_path` is set, sends a create of the parent, as a container, directly before create2.
/// Its result changes only path_existed in the reply. If an ancestor is missing, both creates fail
/// with no_node. REQUIRES: with `makes_path`, the parent is not "/".
struct CreateContender {
  std::string parent;
  std::string prefix;  ///< such as "lock-"
  std::string data;
  bool counts = false;
  bool makes_path = false;
};
/// Sends exists. Reply: all members of a Get reply except data. Newer servers (ZOOKEEPER-2590:
/// 3.8.4 and later of 3.8, 3.9.2 and later) require READ permission. Without it, they answer
/// no_auth for an existing znode, and no_node for a missing one.
struct Exists {
  std::string path;
};
/// Creates `path` and its missing ancestors as containers. Reply: ok if all of them exist now, even
/// if nothing was missing. no_node if the chroot does not exist, and is not to be created.
struct CreateParents {
  std::string path;
};
/// Sends getChildren2. Reply: children, and all members of a Get reply except data.
struct ListChildren {
  std::string path;
};
/// Sends getData. Reply: data, token (czxid), created_ms, ephemeral_owner, version, child_count,
/// pzxid, data_length, next_sequence.
struct Get {
  std::string path;
};
/// Sends getData with a watch. The reply has the members of a Get reply. If the status is `ok`, the
/// watch is armed for the events `changed` and `deleted`. If the client has no READ permission, it
/// watches the znode by an exists instead. The reply then has `unreadable` set, and no data. If the
/// servers refuse the exists too, the status is `ok` nevertheless, without a stat (see
/// Reply::is_without_stat()), and no server has a watch. In both cases the client checks each
/// second whether the znode exists, because the servers may send no event; see Reply::unreadable.
struct GetAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends getChildren2 with a watch. The reply has the members of a ListChildren reply. If the
/// status is `ok`, the watch is armed for `children` and `deleted`.
struct ListAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends exists with a watch. The reply has all members of a Get reply except data. The status `ok`
/// arms the watch for `changed` and `deleted`, the status `no_node` for `created`. If a server
/// refuses the exists because the READ permission is missing, the status is `ok` without a stat,
/// and `unreadable` is set. Such servers send no events of the znode. So the client checks it each
/// second, as for a GetAndWatch.
struct ExistsAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends multi{check(path, any version)}, a quorum operation that changes nothing. Both ok (the
/// znode exists) and no_node (it does not) prove contact with the quorum.
struct Check {
  std::string path;
};
/// Sends sync, which the leader answers without a majority. It is not written to the servers'
/// transaction logs. Reply: only the status.
struct Sync {
  std::string path;
};
/// Sends delete, with any version.
struct Delete {
  std::string path;
};
/// Sends multi{setData(path, "released"), delete(path)}. The setData notifies the watching
/// contender that the holder has released.
struct AnnounceAndDelete {
  std::string path;
};

/// The operations of a transaction. `version` is the required data version; -1: any.
namespace write {

/// Creates a znode. An ephemeral znode belongs to the session on which the transaction is sent.
struct Create {
  std::string path;
  std::string data = {};
  bool ephemeral = false;
  /// If true, the znode has the ACL of lock znodes, otherwise the ACL of parents.
  bool lock_acl = false;
  /// If true, the servers append a sequence number to the path, and the reply has the name.
  /// REQUIRES: at most one operation of the transaction is sequential.
  bool sequential = false;
  /// If true, the transaction is refused if the session's ephemeral znodes would have more than
  /// half of ClientOptions::max_node_bytes. So such znodes leave room for lock znodes.
  bool leaves_room = false;
};
struct Set {
  std::string path;
  std::string data = {};
  std::int32_t version = -1;
};
struct Remove {
  std::string path;
  std::int32_t version = -1;
};
struct CheckVersion {
  std::string path;
  std::int32_t version = -1;
};

}  // namespace write
using Write = std::variant<write::Create, write::Set, write::Remove, write::CheckVersion>;

/// Sends multi{check(guard, any version), writes...}: all operations or none are executed. An empty
/// `guard` adds no check. If an operation fails, the reply has the status of the first that failed.
/// Reply::failed_operation is its index: a guard has index 0, and the writes follow. The replies
/// session_ended, auth_failed and closed do not say whether a transaction that was sent has been
/// executed. Its writes can outlive the session, except ephemeral znodes. REQUIRES: a guard or at
/// least one write.
struct Transaction {
  std::string guard;
  std::vector<Write> writes;
};

}  // namespace request

using Operation =
    std::variant<request::CreateContender, request::Exists, request::CreateParents,
                 request::ListChildren, request::Get, request::GetAndWatch, request::Check,
                 request::Delete, request::AnnounceAndDelete, request::ListAndWatch,
                 request::ExistsAndWatch, request::Transaction, request::Sync>;

/// The names of the operations in the metrics, by their index in Operation.
inline constexpr std::array<std::string_view, std::variant_size_v<Operation>> kOperationNames{
    "create",       // CreateContender
    "exists",       // Exists
    "create",       // CreateParents
    "getChildren",  // ListChildren
    "getData",      // Get
    "getData",      // GetAndWatch
    "check",        // Check
    "delete",       // Delete
    "multi",        // AnnounceAndDelete
    "getChildren",  // ListAndWatch
    "exists",       // ExistsAndWatch
    "multi",        // Transaction
    "sync",         // Sync
};
static_assert(!kOperationNames.back().empty());

// Returns the transaction that a request consists of.

inline request::Transaction as_transaction(request::Check request) {
  return {.guard = std::move(request.path), .writes = {}};
}

inline request::Transaction as_transaction(request::Delete request) {
  return {.guard = {}, .writes = {request::write::Remove{std::move(request.path)}}};
}

inline request::Transaction as_transaction(request::AnnounceAndDelete request) {
  request::Transaction transaction;
  transaction.writes.reserve(2);
  transaction.writes.emplace_back(
      request::write::Set{request.path, std::string(core::kReleasedData)});
  transaction.writes.emplace_back(request::write::Remove{std::move(request.path)});
  return transaction;
}

inline std::string& path_of(request::Write& write) {
  return std::visit([](auto& w) -> std::string& { return w.path; }, write);
}
inline const std::string& path_of(const request::Write& write) {
  return std::visit([](const auto& w) -> const std::string& { return w.path; }, write);
}

}  // namespace zklock::client
