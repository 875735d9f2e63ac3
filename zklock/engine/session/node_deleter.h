// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"

namespace zklock::detail {

using core::SessionId;

/// Deletes lock znodes in the background and repeats until the ensemble confirms the delete or the
/// session ends. The only failure is `refused`: the ACL of the parent does not permit DELETE, or
/// READ to look at it.
///
/// | step       | request           | reply                 | next step                   |
/// |------------|-------------------|-----------------------|-----------------------------|
/// | announcing | AnnounceAndDelete | no permission         | looking                     |
/// | looking    | get_by_quorum()   | ok: the znode itself  | deleting                    |
/// |            |                   | ok: another znode     | continues as if deleted     |
/// |            |                   | no permission         | ends: refused               |
/// | deleting   | Delete            | no permission         | ends: refused               |
/// | all but    |                   | ok                    | continues as if deleted     |
/// | looking    |                   |                       |                             |
/// | all        |                   | no_node               | continues as if deleted     |
/// |            |                   | a sibling failed      | repeats the step without it |
/// |            |                   | unknown, or not sent  | looking                     |
/// |            |                   | session ended, closed | ends: session_ended         |
/// |            |                   | any other             | looking, after 250 ms       |
///
/// AnnounceAndDelete and Delete also delete the siblings, in the same transaction, except those
/// that may be missing. If a sibling does not exist, its create may still be under way. So its
/// delete is sent again after the znode was deleted. From then on the create fails, because the
/// create's transaction checks the znode.
/// Only the creator of a znode has permission to announce.
///
/// After the znode, the remaining siblings are deleted one by one. A sibling with `proclaimed_by`
/// begins with step looking, any other with deleting. If permission is missing, `complain` is
/// called, and the sibling counts as deleted. If the session ends during these deletions, the end
/// is `deleted`, because the znode is deleted.
///
/// A delete names a path, which may belong to another znode when the delete is executed. When all
/// children are deleted, the servers delete the empty parent. A recreated parent restarts the
/// sequence numbers. So only a first attempt that is sent at once may omit the look. An attempt
/// begins with step looking after an unknown outcome, after a time without a connection, and at
/// every retry. Exception: if a sibling fails, the step is repeated at once, omitting that
/// sibling.
///
/// A delete cannot name a czxid, so it can delete another znode in two cases. In both, the znode is
/// deleted by hand and the path is recreated. That happens shortly before a first attempt without a
/// look, or between look and delete.
///
/// Thread-safety: all members, from any thread. May be destroyed while deletions are under way.
class NodeDeleter {
 public:
  /// `complain` is called when a sibling cannot be deleted. REQUIRES: both ports outlive the
  /// deletions.
  NodeDeleter(client::Coordinator& coordinator, client::Scheduler& scheduler,
              std::function<void(const std::string& path, core::Status why)> complain);

  /// The first step of a deletion.
  enum class FirstStep {
    /// Step announcing: a release. The watching contender may be granted without a further request.
    announce,
    /// Step looking: the znode may have been deleted long ago, unnoticed.
    look,
    /// Step deleting: a contender that gave up, or a release that needs no announcement.
    delete_now
  };

  /// A znode that is deleted together with another. The other is deleted even if the sibling
  /// cannot be.
  struct SiblingNode {
    std::string path;
    /// The token of the holder that has written its proclamation into the sibling. 0: the path
    /// can belong to no other contender, so the sibling is deleted without a look.
    FencingToken proclaimed_by = {};
    /// Its create may be under way, or may have failed. Then it is deleted after the znode: a
    /// transaction with it could fail, which would delay the delete of the znode.
    bool may_be_missing = false;
  };
  struct Node {
    std::string path;
    /// The contender's token: the czxid of its znode. 0: the znode is not a contender's. Then it is
    /// deleted if it is not ephemeral, or ephemeral in the deleting session. If the servers do not
    /// show its owner, it is deleted unless it is a release request. If
    /// ClientOptions::acl denies READ, the client's own release request ends with the session.
    FencingToken token = {};
    std::vector<SiblingNode> siblings = {};
    /// The znode is a reader's that has replaced the writer's. Its data name the token.
    bool is_downgraded = false;
  };
  enum class End {
    deleted,        ///< the ensemble confirmed that the znode is deleted
    session_ended,  ///< session ended; the servers expire its znodes
    refused         ///< no permission; expires with the session
  };
  class Deletion;
  /// Sends the request of the present step, and then those that follow. Does not block.
  static void submit(const std::shared_ptr<Deletion>& deletion);

 private:
  struct Ports;
  static void on_answered(const std::shared_ptr<Deletion>& deletion, const client::Reply& reply);
  static bool drops_sibling(Deletion& deletion, const client::Reply& reply);
  static void look(const std::shared_ptr<Deletion>& deletion);
  static void delete_next_sibling(const std::shared_ptr<Deletion>& deletion);
  static void on_deleted(const std::shared_ptr<Deletion>& deletion);
  static void on_refused(const std::shared_ptr<Deletion>& deletion, core::Status status);

  std::shared_ptr<Ports> ports_;
};

/// One deletion, which begins with submit().
class NodeDeleter::Deletion {
 public:
  Deletion(const NodeDeleter& deleter, SessionId session, Node node, FirstStep first);
  Deletion(const Deletion&) = delete;
  Deletion& operator=(const Deletion&) = delete;
  virtual ~Deletion() = default;

  SessionId session() const noexcept { return session_; }
  /// Returns the znode that remains to be deleted.
  const Node& node() const noexcept { return node_; }
  /// Makes step looking the next. REQUIRES: the end was `refused`.
  void begin_again() noexcept { step_ = Step::looking; }

 private:
  friend class NodeDeleter;
  enum class Step { announcing, looking, deleting };

  /// Called when the deletion ends. After begin_again() it is called once more.
  virtual void on_ended(End end) = 0;
  static Step to_step(FirstStep first) noexcept;
  bool is_target(const client::Reply& there) const;
  template <class R>
  client::Operation with_siblings(R request) const;

  const std::shared_ptr<Ports> ports_;
  const SessionId session_;
  Node node_;
  Step step_;
  bool is_node_deleted_ = false;  ///< only siblings remain to be deleted
  /// Siblings that the transaction did not find, and those that may be missing.
  std::vector<SiblingNode> missing_;
};

}  // namespace zklock::detail
