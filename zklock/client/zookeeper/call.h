// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <zookeeper/zookeeper.h>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/quirks/handle_callbacks.h"
#include "zklock/client/zookeeper/watch_registry.h"
#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {

class Call;

/// A sub-request of a Call, from just before it is passed to the C client until its completion.
struct PendingRequest {
  PendingId id = 0;
  std::shared_ptr<Call> call;
  RequestKind kind = RequestKind::read;
  std::size_t sub_request = 0;  ///< index among those of the call
};

/// The pending requests of one session, in the order of sending. The servers reply in that order,
/// so a completion nearly always ends the first one.
class PendingRequests {
 public:
  /// Adds a pending request with a new id.
  PendingId add(std::shared_ptr<Call> call, RequestKind kind, std::size_t sub_request);
  /// Removes the pending request that was added last. REQUIRES: its completion has not been called.
  void drop_last() noexcept { pending_.pop_back(); }
  /// Removes a pending request. Returns std::nullopt if there is none with this id.
  std::optional<PendingRequest> take(PendingId id) noexcept;
  /// Removes all pending requests.
  std::deque<PendingRequest> take_all() { return std::exchange(pending_, {}); }
  std::size_t size() const noexcept { return pending_.size(); }
  bool empty() const noexcept { return pending_.empty(); }

 private:
  std::deque<PendingRequest> pending_;
};

/// The members of a coordinator that a Call needs for sending and completing, and its reply.
struct CallContext {
  zhandle_t* handle;  ///< null while closing: nothing can be sent
  Reply& reply;       ///< made by blank_reply(), filled by the call
  PendingRequests& pending;
  WatchRegistry& watches;
  NodeBudget& nodes;
  const Acl& node_acl;
  const Acl& parent_acl;
  const ConnectionString& hosts;
  std::string_view user;               ///< of the digest credential; empty: none
  std::optional<Watch>& unused_watch;  ///< to be removed; complete() sets it
};

/// The permission that a request needs.
struct Permission {
  std::string_view name;  ///< such as "CREATE"
  std::string_view path;  ///< full path of the znode with the ACL
};

/// A submitted Request without its operation: its id, its handler and the conditions of sending it.
struct CallHeader {
  RequestId id{};
  SessionId session;                  ///< see Request
  ReplyHandler handler;               ///< null: the reply is not needed
  Instant wanted_since;               ///< see Request
  bool fail_if_disconnected = false;  ///< see Request
  /// The index of the alternative of Operation; nothing for a request of the coordinator itself.
  std::optional<std::size_t> operation = {};
};

/// Carries out one submitted request, from submission to reply. It passes one or more requests to
/// the C client: its sub-requests. It composes the reply from their completions.
///
/// Each derived class has issue() and complete() of its operations side by side. They are virtual
/// functions, because std::visit would add stack frames to each lock() and unlock().
///
/// Thread-safety: none; the caller locks.
class Call : public std::enable_shared_from_this<Call> {
 public:
  /// The code that issue() returns if it has refused to send anything. The reply then has the
  /// cause. No code of the C client is positive.
  static constexpr int kRefused = 1;

  explicit Call(CallHeader header) : header_(std::move(header)) {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  RequestId id() const noexcept { return header_.id; }
  CallHeader& header() noexcept { return header_; }
  const CallHeader& header() const noexcept { return header_; }

  /// Called before issue(), and by the call itself before it sends a later sub-request.
  void begin_send() noexcept;
  /// Passes the sub-requests to the C client. Returns ZOK, kRefused, or an error code of the C
  /// client. After an error code no completion reaches the call, and it can be issued again.
  virtual int issue(const CallContext& context) = 0;
  /// Called after issue() has returned ZOK.
  void end_send(SessionId session) noexcept { session_ = session; }
  /// Returns a reply without a result: session and sent_at are set.
  Reply blank_reply() const;
  /// Evaluates the completion of a sub-request, and fills context.reply. Returns true if that reply
  /// is complete. Returns false if another sub-request is outstanding; its completion fills a new
  /// reply.
  virtual bool complete(std::size_t sub_request, const Completion& completion,
                        const CallContext& context) = 0;

  /// If this is a read with a watch, removes the watch from it. REQUIRES: it has not been sent.
  virtual void forget_watch() noexcept {}

  /// Set the status and detail of the reply. If the code is ZNOAUTH, the detail says that `needed`
  /// is not permitted. If it is ZNOCHILDRENFOREPHEMERALS, the detail names the path of `needed`,
  /// which is the parent.
  static void set_status(const CallContext& context, int code);
  static void set_status(const CallContext& context, int code, const Permission& needed);

 protected:
  /// Adds a sub-request that is about to be sent. Returns the data for its completion.
  const void* add_pending(const CallContext& context, RequestKind kind,
                          std::size_t sub_request = 0) {
    return HandleCallbacks::as_pointer(context.pending.add(shared_from_this(), kind, sub_request));
  }
  /// Drops the sub-request that was added last, if the C client did not send it. Returns `code`.
  static int drop_if_unsent(const CallContext& context, int code) noexcept {
    if (code != ZOK) context.pending.drop_last();
    return code;
  }

  // These refuse a call: they set the status and detail, and return kRefused. The last two refuse a
  // create or a watch because the byte budget of the session is used up.
  static int refuse(const CallContext& context, Status status, std::string detail);
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
/// watch was registered again meanwhile.
std::shared_ptr<Call> make_watch_removal(Watch watch, CallHeader header);

// make_call() calls the functions below. All paths include the chroot, except that of a contender.

// read_calls.cpp
enum class ReadKind { exists, list, get };
/// `on_event`: the handler of the watch; empty: a read without a watch.
std::shared_ptr<Call> make_read(ReadKind kind, std::string path, request::OnWatchEvent on_event,
                                CallHeader header);
std::shared_ptr<Call> make_sync(std::string path, CallHeader header);

// write_calls.cpp
std::shared_ptr<Call> make_create(const std::string& chroot, request::CreateContender operation,
                                  CallHeader header);
/// Creates the levels of the path below `existing`.
std::shared_ptr<Call> make_create_parents(const std::string& existing, std::string path,
                                          CallHeader header);
std::shared_ptr<Call> make_delete(std::string path, CallHeader header);

// multi_calls.cpp
std::shared_ptr<Call> make_announce(std::string path, CallHeader header);
std::shared_ptr<Call> make_transaction(request::Transaction operation, CallHeader header);

}  // namespace zklock::client
