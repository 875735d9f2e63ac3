// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/request_registry.h"
#include "zklock/client/zookeeper/watch_registry.h"

namespace zklock::client {

class Call;

/// A request that a call has passed to the C client, and that is not completed.
struct Flight {
  std::shared_ptr<Call> call;
  std::size_t part = 0;  ///< index among the call's requests
};
using Flights = std::unordered_map<Ticket, Flight>;

/// The work that a completion leaves to the coordinator.
struct FollowUps {
  std::vector<Watch> removals;    ///< watches to remove at the servers
  std::vector<Watch> departures;  ///< watches whose znode a check found deleted
  bool ask_for_nodes = false;     ///< a watch became mute; see Reply::mute
};

/// The parts of one session that a Call needs for sending and completing, and its reply.
struct Wire {
  zhandle_t* handle;  ///< null while closing: nothing can be sent
  SessionId session;
  Reply& reply;  ///< made by blank_reply(), filled by the call
  CompletionSink& sink;
  Flights& flights;
  WatchRegistry& watches;
  NodeBudget& nodes;
  const Acl& node_acl;
  const Acl& parent_acl;
  FollowUps& follow_ups;
};

/// A submitted Request without its operation: its id, its handler and the conditions of sending it.
struct Origin {
  RequestId id{};
  SessionId bound_to;    ///< 0: any session
  ReplyHandler handler;  ///< null: a request of the client itself
  Instant wanted_since;  ///< see Request
  bool at_once = false;  ///< see Request
};

/// Carries out one submitted request, from submission to reply. It issues one or more requests to
/// the C client, its parts, and composes the reply from their completions.
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

  explicit Call(Origin origin) : origin_(std::move(origin)) {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  RequestId id() const noexcept { return origin_.id; }
  SessionId bound_to() const noexcept { return origin_.bound_to; }
  Instant wanted_since() const noexcept { return origin_.wanted_since; }
  bool at_once() const noexcept { return origin_.at_once; }
  ReplyHandler& handler() noexcept { return origin_.handler; }
  /// Returns a reply without a result: session and sent_at are set.
  Reply blank_reply() const;

  /// Passes the requests to the C client. Throws std::bad_alloc; then no reply follows, and send()
  /// must not be called again.
  Sent send(const Wire& wire);
  /// Evaluates the completion of a part, and fills wire.reply. Returns true if that reply is
  /// complete. Returns false if another part is outstanding; its completion fills a new reply.
  virtual bool complete(std::size_t part, const Completion& completion, const Wire& wire) = 0;

  /// Returns whether that part is a quorum operation.
  virtual bool is_write(std::size_t part) const noexcept = 0;
  /// If this is a read with a watch, removes the watch from it. REQUIRES: it has not been sent.
  virtual void forget_watch() noexcept {}

 protected:
  /// Issues the requests of the call. Returns ZOK, or another code if the first request could not
  /// be sent. Throws std::bad_alloc; then it will not be called again.
  virtual int issue(const Wire& wire) = 0;

  /// Sends one request by `call_c(data)`, which calls the C client. Returns the code of that call.
  /// If nothing was sent, calls `undo()`: after a code other than ZOK, and before std::bad_alloc is
  /// thrown.
  template <typename CallC, typename Undo = void (*)()>
  int request(
      const Wire& wire, std::size_t part, CallC&& call_c, Undo&& undo = [] {}) {
    auto& registry = RequestRegistry::instance();
    Ticket ticket = 0;  // none
    const auto withdraw = [&]() noexcept {
      registry.forget(ticket);
      wire.flights.erase(ticket);
      undo();
    };
    try {
      ticket = registry.expect(wire.sink);
      wire.flights.emplace(ticket, Flight{shared_from_this(), part});
    } catch (...) {
      withdraw();
      throw;
    }
    const int code = call_c(RequestRegistry::as_pointer(ticket));
    if (code != ZOK) withdraw();
    return code;
  }

  /// Records that another request of the call is about to be sent.
  void sent_again() { sent_at_ = LeaseClock::now(); }

  /// The code that issue() returns if it has refused to send anything. No code of the C client is
  /// positive.
  static constexpr int kRefused = 1;

  /// Both set the status and detail of the reply. refuse() returns kRefused.
  static void answer(const Wire& wire, int code);
  static int refuse(const Wire& wire, Status status, std::string detail);

 private:
  Origin origin_;
  SessionId session_;  ///< on which it was sent; 0: not sent
  Instant sent_at_;    ///< of its last request
};

/// Makes the call of `operation`. Its paths are below `chroot`, which is a path or empty.
std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, Origin origin);

/// Makes a call that removes the servers' watch of a full path. If the watch has an interest in the
/// WatchRegistry when the call is to be sent, nothing is sent.
std::shared_ptr<Call> make_watch_removal(Watch watch, Origin origin);

/// Makes a call that checks whether the full path still exists.
std::shared_ptr<Call> make_presence_check(std::string path, Origin origin);

}  // namespace zklock::client
