// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/completion_sink.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/watch_registry.h"

namespace zklock::client {

class Call;

/// One request of a Call to the C client, from just before it is sent until its completion.
struct Flight {
  Ticket ticket = 0;
  std::shared_ptr<Call> call;
  std::size_t part = 0;  ///< index among the call's requests
};

/// The flights of one session, in the order of sending. The servers reply in that order, so a
/// completion nearly always ends the first one.
class Flights {
 public:
  /// Adds a flight with a new ticket.
  Ticket add(std::shared_ptr<Call> call, std::size_t part);
  /// Removes a flight. Returns nothing if there is none with this ticket.
  std::optional<Flight> take(Ticket ticket) noexcept;
  /// Removes all flights.
  std::deque<Flight> take_all() { return std::exchange(flights_, {}); }
  std::size_t size() const noexcept { return flights_.size(); }
  bool empty() const noexcept { return flights_.empty(); }

 private:
  std::deque<Flight> flights_;
};

/// The work that a completion leaves to the coordinator.
struct FollowUps {
  std::vector<Watch> removals;  ///< watches to remove at the servers
  std::vector<Watch> vanished;  ///< watches whose znode a check found deleted
  /// A watch of an unreadable znode was armed. Such znodes must be checked repeatedly from now on.
  bool poll_unreadable = false;
};

/// The parts of one session that a Call needs for sending and completing, and its reply.
struct CallContext {
  zhandle_t* handle;  ///< null while closing: nothing can be sent
  SessionId session;
  Reply& reply;  ///< made by blank_reply(), filled by the call
  Flights& flights;
  WatchRegistry& watches;
  NodeBudget& nodes;
  const Acl& node_acl;
  const Acl& parent_acl;
  FollowUps& follow_ups;
};

/// A submitted Request without its operation: its id, its handler and the conditions of sending it.
struct CallHeader {
  RequestId id{};
  SessionId bound_to;    ///< 0: any session
  ReplyHandler handler;  ///< null: a request of the coordinator itself
  Instant wanted_since;  ///< see Request
  bool at_once = false;  ///< see Request
};

/// Carries out one submitted request, from submission to reply. It sends one or more requests to
/// the C client, which are the parts of the call. It composes the reply from their completions.
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
  bool at_once() const noexcept { return header_.at_once; }
  ReplyHandler& handler() noexcept { return header_.handler; }
  /// Returns a reply without a result: session and sent_at are set.
  Reply blank_reply() const;

  /// Issues the requests of the call, between begin_send() and end_send(). Returns ZOK, or another
  /// code if the first request could not be sent. Throws std::bad_alloc; then the call gets no
  /// reply, and issue() must not be called again.
  virtual int issue(const CallContext& context) = 0;
  /// Called before the first request is sent, and by the call before each later one.
  void begin_send() { sent_at_ = LeaseClock::now(); }
  /// `code`: the result of issue().
  Sent end_send(int code, const CallContext& context);
  /// Evaluates the completion of a part, and fills context.reply. Returns true if that reply is
  /// complete. Returns false if another part is outstanding; its completion fills a new reply.
  virtual bool complete(std::size_t part, const Completion& completion,
                        const CallContext& context) = 0;

  /// Returns who answers that part.
  virtual AnsweredBy answered_by(std::size_t part) const noexcept = 0;
  virtual bool is_multi() const noexcept { return false; }
  /// If this is a read with a watch, removes the watch from it. REQUIRES: it has not been sent.
  virtual void forget_watch() noexcept {}

 protected:
  /// One request to the C client that the call is about to send. The constructor adds its flight.
  /// The destructor removes the flight unless the request was sent.
  class OutgoingRequest {
   public:
    /// `part`: index of the request among the call's requests.
    OutgoingRequest(Call& call, const CallContext& context, std::size_t part = 0)
        : flights_(context.flights), ticket_(flights_.add(call.shared_from_this(), part)) {}
    ~OutgoingRequest() {
      if (!was_sent_) flights_.take(ticket_);
    }
    OutgoingRequest(const OutgoingRequest&) = delete;
    OutgoingRequest& operator=(const OutgoingRequest&) = delete;

    /// Returns the pointer to pass to the C client.
    const void* data() const noexcept { return CompletionSink::as_pointer(ticket_); }
    /// Records and returns the code of the C client's function that sends the request.
    int sent(int code) noexcept {
      was_sent_ = code == ZOK;
      return code;
    }

   private:
    Flights& flights_;
    const Ticket ticket_;
    bool was_sent_ = false;
  };

  /// The code that issue() returns if it has refused to send anything. No code of the C client is
  /// positive.
  static constexpr int kRefused = 1;

  /// Both set the status and detail of the reply. refuse() returns kRefused.
  static void answer(const CallContext& context, int code);
  static int refuse(const CallContext& context, Status status, std::string detail);
  /// Sets the members of the reply that a stat has. Without a stat, does nothing.
  static void describe(const Stat* stat, Reply& reply) noexcept;

 private:
  CallHeader header_;
  SessionId session_;  ///< on which it was sent; 0: not sent
  Instant sent_at_;    ///< of its last request
};

/// Makes the call of `operation`. Its paths are below `chroot`, which is a path or empty.
std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, CallHeader header);

/// Makes a call that removes the servers' watch of a full path. Nothing is sent if the
/// WatchRegistry contains an interest in the watch by then.
std::shared_ptr<Call> make_watch_removal(Watch watch, CallHeader header);

/// Makes a call that checks whether the full path still exists.
std::shared_ptr<Call> make_presence_check(std::string path, CallHeader header);

}  // namespace zklock::client
