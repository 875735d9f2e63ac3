// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/lock_path.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/node_deleter.h"
#include "zklock/error.h"

namespace zklock::detail {

/// The deletes of the client's znodes in the background, and those that an ACL refused.
///
/// | state     | flush()         | ends with                                                |
/// |-----------|-----------------|----------------------------------------------------------|
/// | under way | waits for it    | confirmed; the session ends; refused                     |
/// | refused   | returns false   | under way again, by retry() or retry_all(); session ends |
///
/// Thread-safety: all members, from any thread. A member of EngineContext, which outlives it.
class NodeDeletions {
 public:
  /// The part of a client that the deletions use.
  class Host {
   public:
    /// Expires when the client is destroyed.
    virtual std::weak_ptr<void> weak_host() noexcept = 0;
    virtual bool closed() const noexcept = 0;
    virtual bool is_current(SessionId session) const noexcept = 0;
    /// Returns the user of the digest credential; empty if there is none.
    virtual std::string_view user() const noexcept = 0;
    virtual BackgroundWork& work() noexcept = 0;
    virtual void warn(const std::string& text) const noexcept = 0;
    /// Called if the ACL of `path` does not permit this client to delete its znode `node` there: an
    /// acquire would wait behind that znode. Called with no lock held.
    virtual void deletion_refused(const std::string& path, const std::string& node,
                                  const std::string& cause) = 0;

   protected:
    ~Host() = default;
  };

  NodeDeletions(client::Coordinator& coordinator, client::Scheduler& scheduler, Host& host);

  /// Deletes a znode of this session in the background, as a part of `work` or of a new piece of
  /// the host's work(). Calls `on_deleted` when the ensemble has confirmed the delete, which may
  /// never happen. Does not block. If the host is closed, sends nothing: closing the session
  /// deletes its znodes.
  void begin(SessionId session, NodeDeleter::Node node, NodeDeleter::FirstStep first,
             std::function<void()> on_deleted = {}, BackgroundWork::Id work = {});
  /// Returns an error if this session still has a znode at `path` that the ACL does not permit it
  /// to delete. A new acquire there would wait behind that znode, and could not be released either.
  /// Also sends the delete again; if it succeeds, the next call returns no error.
  std::optional<Error> retry(const core::LockPath& path);
  /// Sends all refused deletes again.
  void retry_all();
  /// Ends the refused deletes of a session that has ended.
  void session_ended(SessionId session) noexcept;
  /// Returns how many deletes are refused.
  std::size_t refused() const;

 private:
  class Deletion;
  void finished(const std::shared_ptr<Deletion>& deletion);
  void on_refused(const std::shared_ptr<Deletion>& deletion);
  /// Sends the refused deletes of children of `parent` again; all refused deletes if it is empty.
  /// Returns one of them, or null if there is none.
  std::shared_ptr<Deletion> retry(std::string_view parent);

  Host& host_;
  NodeDeleter node_deleter_;
  std::atomic<bool> has_refused_{false};  ///< refused_ is not empty

  mutable client::Mutex mutex_;
  /// Contains a deletion also while its delete is repeated.
  std::vector<std::shared_ptr<Deletion>> refused_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
