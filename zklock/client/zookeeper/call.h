// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/port/boot_time.h"
#include "zklock/client/port/coordinator.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/completion_sink.h"
#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/watch_registry.h"

namespace zklock::client {

class Call;

/// A sub-request of a Call, from just before it is passed to the C client until its completion.
struct PendingRequest {
  PendingId id = 0;
  std::shared_ptr<Call> call;
  std::size_t sub_request = 0;  ///< index among those of the call
};

/// The pending requests of one session, in the order of sending. The servers reply in that order,
/// so a completion nearly always ends the first one.
class PendingRequests {
 public:
  /// Adds a pending request with a new id.
  PendingId add(std::shared_ptr<Call> call, std::size_t sub_request);
  /// Removes a pending request. Returns std::nullopt if there is none with this id.
  std::optional<PendingRequest> take(PendingId id) noexcept;
  /// Removes all pending requests.
  std::deque<PendingRequest> take_all() { return std::exchange(pending_, {}); }
  std::size_t size() const noexcept { return pending_.size(); }
  bool empty() const noexcept { return pending_.empty(); }

 private:
  std::deque<PendingRequest> pending_;
};

/// The work that a completion leaves to the coordinator.
struct FollowUps {
  std::vector<Watch> removals;  ///< watches to remove at the servers
  /// A watch of an unreadable znode was armed. Such znodes must be checked repeatedly from now on.
  bool poll_unreadable = false;
};

/// The members of a coordinator that a Call needs for sending and completing, and its reply.
struct CallContext {
  zhandle_t* handle;  ///< null while closing: nothing can be sent
  SessionId session;
  Reply& reply;  ///< made by blank_reply(), filled by the call
  PendingRequests& pending;
  WatchRegistry& watches;
  NodeBudget& nodes;
  const Acl& node_acl;
  const Acl& parent_acl;
  const ConnectionString& hosts;
  std::string_view user;  ///< of the digest credential; empty: none
  FollowUps& follow_ups;
};

/// The permission that a request needs.
struct Permission {
  std::string_view name;  ///< such as "CREATE"
  std::string_view path;  ///< full path of the znode with the ACL
};

/// A submitted Request without its operation: its id, its handler and the conditions of sending it.
struct CallHeader {
  RequestId id{};
  SessionId bound_to;                 ///< 0: any session
  ReplyHandler handler;               ///< null: the reply is not needed
  Instant wanted_since;               ///< see Request
  bool fail_if_disconnected = false;  ///< see Request
  /// The index of the alternative of Operation; nothing for a request of the coordinator itself.
  std::optional<std::size_t> operation = {};
};

/// Carries out one submitted request, from submission to reply. It passes one or more requests to
/// the C client: its sub-requests. It composes the reply from their completions.
///
/// Thread-safety: none; the caller locks.
class Call : public std::enable_shared_from_this<Call> {
 public:
  enum class Sent {
    yes,
    /// Nothing was sent, because the session has ended.
    handle_is_dead,
    /// Nothing was sent, and nothing will be. The reply has the cause.
    refused,
  };

  explicit Call(CallHeader header) : header_(std::move(header)) {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  RequestId id() const noexcept { return header_.id; }
  SessionId bound_to() const noexcept { return header_.bound_to; }
  Instant wanted_since() const noexcept { return header_.wanted_since; }
  bool fail_if_disconnected() const noexcept { return header_.fail_if_disconnected; }
  std::optional<std::size_t> operation() const noexcept { return header_.operation; }
  ReplyHandler& handler() noexcept { return header_.handler; }
  /// Returns a reply without a result: session and sent_at are set.
  Reply blank_reply() const;

  /// Issues the sub-requests of the call, between begin_send() and end_send(). Returns ZOK, or
  /// another code if the first request could not be sent. Throws std::bad_alloc; then the call gets
  /// no reply, and issue() must not be called again.
  virtual int issue(const CallContext& context) = 0;
  /// The coordinator calls it before issue(). The call itself calls it before it sends a later
  /// sub-request.
  void begin_send() { sent_at_ = boot_time(); }
  /// Ends the sending, and returns what became of it. If the call was refused, sets the cause in
  /// the reply. `code`: the result of issue().
  Sent end_send(int code, const CallContext& context);
  /// Evaluates the completion of a sub-request, and fills context.reply. Returns true if that reply
  /// is complete. Returns false if another sub-request is outstanding; its completion fills a new
  /// reply.
  virtual bool complete(std::size_t sub_request, const Completion& completion,
                        const CallContext& context) = 0;

  /// Returns which servers answer that sub-request.
  virtual AnsweredBy answered_by(std::size_t /*sub_request*/) const noexcept {
    return AnsweredBy::server;
  }
  virtual bool is_multi() const noexcept { return false; }
  /// If this is a read with a watch, removes the watch from it. REQUIRES: it has not been sent.
  virtual void forget_watch() noexcept {}

 protected:
  /// A sub-request that the call is about to send. The constructor adds a pending request. The
  /// destructor removes it unless it was sent.
  class OutgoingRequest {
   public:
    /// `sub_request`: its index among those of the call.
    OutgoingRequest(Call& call, const CallContext& context, std::size_t sub_request = 0)
        : pending_(context.pending), id_(pending_.add(call.shared_from_this(), sub_request)) {}
    ~OutgoingRequest() {
      if (!was_sent_) pending_.take(id_);
    }
    OutgoingRequest(const OutgoingRequest&) = delete;
    OutgoingRequest& operator=(const OutgoingRequest&) = delete;

    /// Returns the pointer to pass to the C client.
    const void* data() const noexcept { return CompletionSink::as_pointer(id_); }
    /// Records and returns the code of the C client's function that sends the request.
    int sent(int code) noexcept {
      was_sent_ = code == ZOK;
      return code;
    }

   private:
    PendingRequests& pending_;
    const PendingId id_;
    bool was_sent_ = false;
  };

  /// The code that issue() returns if it has refused to send anything. No code of the C client is
  /// positive.
  static constexpr int kRefused = 1;

  /// These set the status and detail of the reply. refuse() returns kRefused. If the code is
  /// ZNOAUTH, the detail says that `needed` is not permitted. If it is ZNOCHILDRENFOREPHEMERALS,
  /// the detail names the path of `needed`, which is the parent.
  static void set_status(const CallContext& context, int code);
  static void set_status(const CallContext& context, int code, const Permission& needed);
  static int refuse(const CallContext& context, Status status, std::string detail);
  /// Refuse a create or a watch, for which the session has no bytes left. Return kRefused.
  static int refuse_node(const CallContext& context);
  static int refuse_watch(const CallContext& context);
  /// Sets the members of the reply that a stat has. Without a stat, does nothing.
  static void copy_stat(const Stat* stat, Reply& reply) noexcept;

 private:
  CallHeader header_;
  SessionId session_;  ///< on which it was sent; 0: not sent
  Instant sent_at_;    ///< of its last request
};

/// Makes the call of `operation`. Its paths are below `chroot`, which is a path or empty. If
/// `create_chroot` is true, CreateParents creates the chroot too.
std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, CallHeader header,
                                bool create_chroot = false);

/// Makes a call that removes the servers' watch of a full path. Nothing is sent if the
/// WatchRegistry contains an interest in the watch by then.
std::shared_ptr<Call> make_watch_removal(Watch watch, CallHeader header);

}  // namespace zklock::client
