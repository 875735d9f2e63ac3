// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/acl.h"
#include "zklock/client/coordinator.h"
#include "zklock/client/node_ledger.h"
#include "zklock/client/request_registry.h"
#include "zklock/client/watch_registry.h"
#include "zklock/core/seldom.h"

namespace zklock::client {

class Call;

/// One call of the C client that has not been completed.
struct Flight {
  std::shared_ptr<Call> call;
  std::size_t part = 0;  ///< which of the call's requests it is
};
using Flights = std::unordered_map<Ticket, Flight>;

/// What a completion leaves its call's owner to do.
struct Chores {
  std::vector<Watch> removals;    ///< that are to be removed at the servers
  std::vector<Watch> departures;  ///< of nodes that were asked for and do not exist any more
  bool ask_for_nodes = false;     ///< there is a watch whose events may not come
};

/// What a Call needs to be sent and answered; all of one session.
struct Wire {
  zhandle_t* handle;  ///< null: it is being closed, and nothing can be sent
  SessionId session;
  CompletionSink& sink;
  Flights& flights;
  WatchRegistry& watches;
  NodeLedger& nodes;
  const Acl& node_acl;
  const Acl& parent_acl;
  Chores& chores;
};

/// Where a call comes from.
struct Origin {
  RequestId id{};
  SessionId bound_to;    ///< 0: any session
  ReplyHandler handler;  ///< null for what the client does on its own account
  Instant wanted_since;
  bool at_once = false;
};

/// A request with its handler, from submission to reply: how it is put on the wire, and how its
/// reply is made of the completions.
///
/// Thread-safety: none, its owner locks.
class Call : public std::enable_shared_from_this<Call> {
 public:
  enum class Sent {
    yes,
    /// The session has ended: nothing was sent.
    handle_is_dead,
    /// Nothing was sent and never will be; the reply says why.
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
  Reply& reply() { return reply_.write(); }
  /// Which may be one of what was never sent.
  Reply take_reply() { return reply_.take(); }

  Sent send(const Wire& wire);
  /// Uses one completion; returns whether the reply is complete.
  virtual bool complete(std::size_t part, const Completion& completion, const Wire& wire) = 0;

  /// Whether that part is an operation of the quorum.
  virtual bool is_write(std::size_t part) const noexcept = 0;
  /// Of a read with a watch, before it is sent: be a plain read.
  virtual void forget_watch() noexcept {}

 protected:
  /// Issues the requests of the call. A code other than ZOK: the first one could not be sent. Throws
  /// std::bad_alloc: nothing was sent; it may be called again.
  virtual int issue(const Wire& wire) = 0;

  /// `call_c(data)` makes one call of the C client. `undo()` is called exactly when nothing was sent:
  /// it has refused, or std::bad_alloc is thrown.
  template <typename CallC, typename Undo = void (*)()>
  int request(
      const Wire& wire, std::size_t part, CallC&& call_c, Undo&& undo = [] {}) {
    auto& registry = RequestRegistry::instance();
    Ticket ticket = 0;  // none
    const auto take_back = [&]() noexcept {
      registry.forget(ticket);
      wire.flights.erase(ticket);
      undo();
    };
    try {
      ticket = registry.expect(wire.sink);
      wire.flights.emplace(ticket, Flight{shared_from_this(), part});
    } catch (...) {
      take_back();
      throw;
    }
    const int code = call_c(RequestRegistry::as_pointer(ticket));
    if (code != ZOK) take_back();
    return code;
  }

  /// Sets the reply's status and detail.
  void answer(int code);
  void refuse(Status status, std::string detail);

 private:
  Origin origin_;
  core::Seldom<Reply> reply_;  ///< none is made for the thousands that wait for their turn
  bool refused_ = false;
};

/// `chroot`: empty or a path, below which the operation's paths are.
std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, Origin origin);

/// Ends the servers' watch (of a full path), unless somebody wants it when the call is sent.
std::shared_ptr<Call> make_watch_removal(Watch watch, Origin origin);

/// Asks whether the full path still exists.
std::shared_ptr<Call> make_presence_check(std::string path, Origin origin);

}  // namespace zklock::client
