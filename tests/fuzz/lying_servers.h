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
#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"

namespace zklock::fuzz {

/// A coordinator whose servers say whatever the input says: any status, name, token, data, children,
/// events of watches. What the coordinator itself promises it keeps: one reply to each request, in
/// order, of the session that it was bound to; the observer told before; no word of a watch that was
/// called off.
///
/// Thread-safety: none.
class LyingServers final : public client::Coordinator {
 public:
  LyingServers(Choices& choices, client::Scheduler& clock) : choices_(choices), clock_(clock) {}

  void start(client::SessionObserver& observer) override { observer_ = &observer; }
  client::RequestId submit(client::Request request, client::ReplyHandler handler) override;
  void soon(std::function<void()> task) override { soon_.push_back(std::move(task)); }
  bool abandon(client::RequestId request) noexcept override;
  void unwatch(client::RequestId request) noexcept override { watches_.erase(request); }
  void close() override;
  std::string trouble() const override { return "they lie"; }

  /// What may happen next. Each does nothing where there is nothing to do.
  void connect();
  void disconnect();
  void end_session();
  void answer();
  void fire();
  void run_soon();

  static constexpr std::chrono::seconds timeout{6};
  client::SessionId session() const noexcept { return session_; }
  /// When the last request was sent of that session that has been answered by the quorum.
  std::optional<core::Instant> heard_by_quorum(client::SessionId session) const;
  /// A contender's node is known to be made by that: as they have said.
  bool have_told(FencingToken token) const { return told_.contains(token); }
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
  void tell_observer(const Pending& pending, client::Status status);
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
  std::deque<std::function<void()>> soon_;
  std::map<client::SessionId, core::Instant> quorum_;
  std::set<FencingToken> told_;
  std::string attempt_;  ///< of the last contender's node that was asked for
  FencingToken last_contender_;
};

}  // namespace zklock::fuzz
