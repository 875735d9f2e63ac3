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
#include "zklock/client/port/scheduler.h"
#include "zklock/deadline.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/error.h"

namespace zklock::detail {

/// The contents of a GuardedTransaction.
struct GuardedWrites {
  std::vector<std::shared_ptr<Contender>> guards;  ///< contenders of one client; at least one
  std::vector<client::request::Write> writes;
  const char* operation = "commit";  ///< for error texts

  const std::string& lock_path() const noexcept { return guards.front()->path_lock().path().str(); }
};

/// One commit, from the check of the holds to the outcome.
///
/// | state     | event                                | becomes                          |
/// |-----------|--------------------------------------|----------------------------------|
/// | created   | refusal() returns an error           | over: that error                 |
/// |           | the commit must not be sent (*)      | over: not_connected or lock_lost |
/// |           | otherwise                            | submitted                        |
/// | submitted | reply: a guard's znode is missing    | missing                          |
/// |           | any other reply                      | over: the outcome in the reply   |
/// |           | not sent: deadline, loss, give_up()  | withdrawn                        |
/// |           | sent: deadline                       | over: outcome_unknown            |
/// |           | sent: loss, give_up()                | submitted: the reply decides     |
/// | withdrawn | reply: not_sent                      | over: not_connected or lock_lost |
/// | missing   | the znode has a new name             | submitted again; or over, by (*) |
/// |           | the znode was deleted                | over: lock_lost                  |
/// |           | deadline, loss, give_up()            | over: not_connected or lock_lost |
///
/// In the state missing, the commit waits until a downgrade that is in flight is settled.
///
/// (*) The commit must not be sent after give_up() or the deadline (not_connected), nor after a
/// hold was lost or released (lock_lost).
///
/// Thread-safety: any thread may call the constructor, entry(), start() and withdraw(). REQUIRES
/// for start() and withdraw(): the engine mutex is not held. REQUIRES for all others: it is held.
/// Made by std::make_shared.
class GuardedCommit final : public std::enable_shared_from_this<GuardedCommit>,
                            private HoldRecord::LossObserver {
 public:
  using Done = std::function<void(std::optional<Error>)>;
  /// A larger transaction is refused: a server drops the connection at 1 MiB, and the client would
  /// lose all its locks.
  static constexpr std::size_t kMaxRequestBytes = 1'000'000;

  /// Makes a commit and calls begin(). Does not block. Throws Error(closed | forked); then `done`
  /// is not called.
  static std::shared_ptr<GuardedCommit> start(const GuardedWrites& writes, Deadline deadline,
                                              Done done);
  /// Calls give_up() under the engine mutex.
  void withdraw();

  /// `done`: called once, with the outcome, by the outbox, without the engine mutex. REQUIRES:
  /// `done` runs no user code.
  GuardedCommit(const GuardedWrites& writes, Deadline deadline, Done done)
      : what_(writes), deadline_(deadline), done_(std::move(done)) {}
  /// Checks the holds and sends the transaction.
  void begin();
  /// Withdraws the transaction if it has not been sent yet. Otherwise its reply still ends the
  /// commit.
  void give_up();
  EngineLock::Entry entry() const noexcept { return {context()}; }

  /// Returns the error for which begin() sends nothing; std::nullopt if there is none. The reasons:
  /// a hold is lost, or the holds have different sessions; `what` changes a lock znode, or is
  /// larger than kMaxRequestBytes.
  static std::optional<Error> refusal(const GuardedWrites& what);
  /// Returns the error for writes that are larger than kMaxRequestBytes.
  static Error too_large(const char* operation, const std::string& lock_path);

 private:
  enum class State { created, submitted, withdrawn, missing, over };

  EngineContext& context() const noexcept { return what_.guards.front()->path_lock().context(); }
  const std::string& lock_path() const noexcept { return what_.lock_path(); }
  Error error(Errc code, std::string_view cause = {}) const {
    return Error(code, what_.operation, lock_path(), cause);
  }

  void submit();
  /// Returns the error of (*); std::nullopt if the commit may be sent.
  std::optional<Error> obstacle() const;
  void on_answered(const client::Reply& reply);
  void on_name_settled(std::size_t guard, const client::Reply& refused);
  void on_deadline();
  void on_hold_lost() noexcept override { cancel_unsent(Errc::lock_lost); }
  /// Returns false, without effect, if the transaction was sent.
  bool cancel_unsent(Errc why);
  std::optional<Error> verdict(const client::Reply& reply) const;
  std::optional<Error> error_of_operation(const client::Reply& reply) const;
  void finish(std::optional<Error> error);

  const GuardedWrites what_;
  const Deadline deadline_;
  Done done_;  ///< null in state over
  State state_ = State::created;
  std::vector<std::string> nodes_;  ///< of the guards, in the last request
  client::RequestId request_ = {};
  client::TimerId timer_ = {};
  Errc withdrawn_for_{};   ///< in state withdrawn
  bool given_up_ = false;  ///< nothing more may be sent
};

}  // namespace zklock::detail
