// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
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

  const std::string& lock_path() const noexcept {
    return guards.front()->path_context().path().str();
  }
};

/// One commit, from the check of the holds to the outcome.
///
/// | state     | event                                | becomes                          |
/// |-----------|--------------------------------------|----------------------------------|
/// | new       | refusal() returns an error           | over: that error                 |
/// |           | the commit must not be sent (*)      | over: not_connected or lock_lost |
/// |           | otherwise                            | submitted                        |
/// | submitted | reply: a guard's znode is missing    | missing                          |
/// |           | any other reply                      | over: the outcome in the reply   |
/// |           | not sent: deadline, loss, withdraw() | withdrawn                        |
/// |           | sent: deadline                       | over: outcome_unknown            |
/// |           | sent: loss, withdraw()               | submitted: the reply decides     |
/// | withdrawn | reply: not_sent                      | over: not_connected or lock_lost |
/// | missing   | the znode has a new name             | submitted again; or over, by (*) |
/// |           | the znode was deleted                | over: lock_lost                  |
/// |           | deadline, loss, withdraw()           | over: not_connected or lock_lost |
///
/// In the state missing, the commit waits until a downgrade that is in flight is settled.
///
/// (*) The commit must not be sent after withdraw() or the deadline (not_connected), nor after a
/// hold was lost or released (lock_lost).
///
/// Thread-safety: all members, from any thread.
class GuardedCommit : public std::enable_shared_from_this<GuardedCommit> {
 public:
  using Done = std::function<void(std::optional<Error>)>;

  /// Checks the holds and sends the transaction. Does not block. `done` is called once, with no
  /// lock held, before start() returns or on a thread that must not be blocked. If start() throws
  /// Error(closed | forked), `done` is not called. REQUIRES: `done` runs no user code.
  static std::shared_ptr<GuardedCommit> start(const GuardedWrites& writes, Deadline deadline,
                                              Done done);
  /// start() in two steps, so that the caller can register the commit before anything is sent.
  /// make() throws what start() throws. begin() sends and does not block. After withdraw(), begin()
  /// sends nothing and calls `done`.
  static std::shared_ptr<GuardedCommit> make(const GuardedWrites& writes, Deadline deadline,
                                             Done done);
  void begin();
  /// Withdraws the transaction if it has not been sent yet. `done` is still called.
  void withdraw();
  /// Returns the error for which begin() would send nothing: `what` is invalid, or a hold is lost.
  static std::optional<Error> refusal(const GuardedWrites& what);

 private:
  struct OnLoss {
    std::weak_ptr<GuardedCommit> commit;
    void operator()() const {
      if (const auto alive = commit.lock()) alive->withdraw(Errc::lock_lost);
    }
  };

  GuardedCommit(const GuardedWrites& writes, Deadline deadline, Done done)
      : what_(writes), deadline_(deadline), done_(std::move(done)) {}

  EngineContext& core() const noexcept { return what_.guards.front()->path_context().core(); }
  EngineLock::Entry entry() const noexcept { return {core()}; }
  const std::string& lock_path() const noexcept { return what_.lock_path(); }

  void assert_invariants() const noexcept;
  void submit();
  void on_answered(const client::Reply& reply, const std::vector<std::string>& nodes);
  void on_deadline();
  bool withdraw(Errc why);
  std::optional<Error> verdict(const client::Reply& reply);
  std::optional<Error> error_of_operation(const client::Reply& reply) const;
  void finish(std::optional<Error> error);

  const GuardedWrites what_;
  const Deadline deadline_;
  std::list<std::stop_callback<OnLoss>> on_loss_;  // used by begin(), then by finish()

  // under the engine mutex
  Done done_;
  client::RequestId request_ = {};
  client::TimerId timer_ = {};
  std::optional<Errc> withdrawn_;  ///< the reason
  bool guard_missing_ = false;     ///< true in state missing
  bool given_up_ = false;          ///< nothing may be sent
  bool over_ = false;
};

}  // namespace zklock::detail
