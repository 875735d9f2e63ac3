// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"

namespace zklock::fuzz {

/// A coordinator whose servers answer as the input decides: any status, name, token, data, children
/// and watch events. It keeps the coordinator's own promises: one reply to each request, in order,
/// and only from the session to which the request was bound. The observer is notified before. No
/// event of a cancelled watch is delivered.
///
/// Thread-safety: none.
class LyingServers final : public client::Coordinator {
 public:
  LyingServers(Choices& choices, client::Scheduler& clock) : choices_(choices), clock_(clock) {}

  void start(client::SessionObserver& observer) override { observer_ = &observer; }
  client::RequestId submit(client::Request request, client::ReplyHandler handler) override;
  bool cancel_unsent(client::RequestId request) noexcept override;
  void unwatch(client::RequestId request) noexcept override { watches_.erase(request); }
  void close() override;
  std::string connection_problem() const override { return "they lie"; }

  /// Possible next actions. An action without pending work has no effect.
  void connect();
  void disconnect();
  void end_session();
  void answer();
  void fire();

  static constexpr std::chrono::seconds kTimeout{6};
  client::SessionId session() const noexcept { return session_; }
  /// Returns when the last request was sent that the quorum has answered on that session.
  std::optional<core::Instant> last_contact_of_quorum(client::SessionId session) const;
  /// Returns whether an answer has named a contender's znode with this token.
  bool have_named(FencingToken token) const { return named_.contains(token); }
  std::size_t unanswered() const noexcept { return pending_.size(); }

 private:
  struct Pending {
    client::RequestId id;
    client::Request request;
    client::ReplyHandler handler;
    core::Instant sent;
  };

  std::optional<client::Status> own_answer(const Pending& pending) const;
  client::Status server_answer();
  client::Reply make_reply(client::Status status, const client::Operation& operation);
  void notify_observer(const Pending& pending, client::Status status);
  void reply(Pending pending, client::Reply reply);
  std::string data();

  Choices& choices_;
  client::Scheduler& clock_;
  client::SessionObserver* observer_ = nullptr;
  std::uint64_t last_id_ = 0;
  std::int64_t last_session_ = 0;
  client::SessionId session_;  ///< 0: none
  bool connected_ = false;
  bool closed_ = false;
  std::deque<Pending> pending_;
  std::deque<Pending> abandoned_;
  std::map<client::RequestId, client::request::OnWatchEvent> watches_;
  std::map<client::SessionId, core::Instant> quorum_;
  std::set<FencingToken> named_;
  std::string attempt_;  ///< of the last contender that was requested
  FencingToken last_contender_;
};

}  // namespace zklock::fuzz
