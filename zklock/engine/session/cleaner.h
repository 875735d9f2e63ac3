// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/lock_path.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/error.h"

namespace zklock::detail {

using core::SessionId;

class EngineContext;

/// Deletes a client's znodes in the background. Each deletion is repeated until the ensemble
/// confirms it or the session ends. The ACL of the parent may not permit DELETE, or READ to look at
/// the znode. Then the deletion is refused: it waits for retry_and_report() or
/// retry_all().
///
/// | step       | request           | reply                 | next step                   |
/// |------------|-------------------|-----------------------|-----------------------------|
/// | announcing | AnnounceAndDelete | no permission         | looking                     |
/// | looking    | get_by_quorum()   | ok: the znode itself  | deleting                    |
/// |            |                   | ok: another znode     | next sibling, or ends       |
/// |            |                   | no permission         | refused                     |
/// | deleting   | Delete            | no permission         | refused                     |
/// | all but    |                   | ok                    | next sibling, or ends       |
/// | looking    |                   |                       |                             |
/// | all        |                   | no_node               | next sibling, or ends       |
/// |            |                   | a sibling failed      | repeats the step without it |
/// |            |                   | unknown, or not sent  | looking                     |
/// |            |                   | session ended, closed | ends                        |
/// |            |                   | any other             | looking, after 250 ms       |
/// | refused    | (none)            | is to be retried      | looking                     |
/// |            |                   | the session ends      | ends                        |
///
/// While a deletion is refused, its background work is stalled: flush() returns false.
///
/// AnnounceAndDelete and Delete also delete the siblings, in the same transaction, except those
/// that may be missing. If a sibling does not exist, its create may still be in flight. So its
/// delete is sent again after the znode was deleted. From then on the create fails, because the
/// create's transaction checks the znode.
///
/// After the znode, the remaining siblings are deleted one by one. A sibling with `proclaimed_by`
/// begins with step looking, any other with deleting. If permission is missing, a warning is
/// logged, and the sibling counts as deleted. If the session ends during these deletions, the znode
/// counts as deleted.
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
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its EngineContext.
class Cleaner {
 public:
  enum class Step {
    /// The delete is announced: the watching contender may be granted without a further request.
    announcing,
    /// The znode is read: it may have been deleted long ago, unnoticed.
    looking,
    /// The znode is deleted without an announcement.
    deleting
  };
  /// A znode that is deleted with a Node, which is deleted even if the sibling cannot be.
  struct Sibling {
    std::string path;
    /// The token of the holder that has written its proclamation into the sibling. 0: the path
    /// can belong to no other contender, so the sibling is deleted without a look.
    FencingToken proclaimed_by = {};
    /// Its create may be in flight, or may have failed. Then it is deleted after the znode: a
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
    std::vector<Sibling> siblings = {};
    /// The znode is a reader's that has replaced the writer's. Its data name the token.
    bool is_downgraded = false;
  };

  /// `context` outlives this object.
  explicit Cleaner(EngineContext& context) : context_(context) {}
  Cleaner(const Cleaner&) = delete;
  Cleaner& operator=(const Cleaner&) = delete;

  /// Deletes a znode of this session, beginning with the step `first`, as a part of `work` or of a
  /// new piece of background work. Calls `on_deleted`, with the engine mutex held, when the
  /// ensemble has confirmed the delete, which may never happen. Does not block. Does nothing if the
  /// client is closed or `session` is 0: the end of a session deletes its znodes.
  void remove(SessionId session, Node node, Step first, std::function<void()> on_deleted = {},
              BackgroundWork::Id work = {});
  /// Returns an error if this session still has a znode at `path` that the ACL does not permit it
  /// to delete. A new acquire there would wait behind that znode, and could not be released either.
  /// Also sends the delete again; if it succeeds, the next call returns no error.
  std::optional<Error> retry_and_report(const core::LockPath& path);
  /// Sends all refused deletes again.
  void retry_all() { retry(std::string_view()); }
  /// Ends the refused deletions of a session that has ended.
  void session_ended(SessionId session) noexcept;
  std::size_t refused() const noexcept { return refused_.size(); }

 private:
  struct Deletion;
  using Shared = std::shared_ptr<Deletion>;
  /// Returns a callback that calls the member `kStep` with `deletion` and the callback's arguments,
  /// with the engine mutex held. Does nothing if the client does not exist any more.
  template <auto kStep>
  static auto under_lock(const Shared& deletion);
  void submit(const Shared& deletion);
  void on_answered(const Shared& deletion, const client::Reply& reply);
  bool drops_sibling(Deletion& deletion, const client::Reply& reply);
  void delete_next_sibling(const Shared& deletion);
  void on_not_permitted(const Shared& deletion, core::Status status);
  void on_refused(const Shared& deletion);
  void end(const Shared& deletion);
  void warn_of_sibling(const std::string& path, core::Status why);
  /// Sends the refused deletes of children of `parent` again; all refused deletes if it is empty.
  /// Returns one of them, or null if there is none.
  Shared retry(std::string_view parent);

  EngineContext& context_;
  /// Contains a deletion even while its delete is repeated.
  std::vector<Shared> refused_;
};

}  // namespace zklock::detail
