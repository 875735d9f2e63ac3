// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/client/port/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/engine/guarded_commit.h"
#include "zklock/error.h"

namespace zklock::detail {

/// Makes the writes to the proclaimed znode, in which one leader proclaims; see
/// core/proclamation.h. PendingProclamation sends them. The first value creates the znode, guarded
/// by the lock znode. It is deleted together with the lock znode, in one transaction. So no client
/// sees the leader without the value that it has proclaimed.
///
/// Thread-safety: all members, from any thread.
class ProclamationWriter {
 public:
  /// `own`: the path of the leader's znode. REQUIRES: `leader` leads.
  ProclamationWriter(std::shared_ptr<Contender> leader, std::string_view own);
  ProclamationWriter(const ProclamationWriter&) = delete;
  ProclamationWriter& operator=(const ProclamationWriter&) = delete;
  ~ProclamationWriter();

  EngineContext& core() const noexcept { return leader_->path_context().core(); }
  const std::shared_ptr<Contender>& leader() const noexcept { return leader_; }
  const std::string& node() const noexcept { return node_; }
  /// Returns the number of a new call. Numbers rise.
  std::uint64_t begin_call() noexcept { return ++calls_; }
  bool is_newest(std::uint64_t call) const noexcept { return call == calls_; }
  /// Arranges that the znode is deleted together with the lock znode. Returns false if the leader
  /// does not lead any more.
  bool bind_to_leader() const;
  /// Returns the write that creates the znode, guarded by the lock znode.
  GuardedWrites creation() const;
  /// Returns the write of `value` to the znode, guarded by the lock znode.
  GuardedWrites value_write(std::string value) const;

 private:
  GuardedWrites guarded(client::request::Write write) const;

  std::shared_ptr<Contender> leader_;
  const std::string node_;
  std::atomic<std::uint64_t> calls_{0};
};

/// The write of one value. Two transactions are sent back to back, each guarded by the lock znode.
/// The first creates the proclaimed znode. It usually fails, because that znode exists. The second
/// writes the value. No call waits for the outcome of an earlier one. Yet values are written in the
/// order of the calls, because only the newest call sends its transactions again. If the first
/// transaction is not sent, its outcome comes from another thread, and may arrive after the outcome
/// of the second.
///
/// | outcome of the second transaction                           | becomes                              |
/// |-------------------------------------------------------------|--------------------------------------|
/// | no proclaimed znode, and the first transaction has failed   | over: error of the first transaction |
/// | with a permanent error                                      |                                      |
/// | no proclaimed znode, in any other case: the first           | newest call: both are sent again; at |
/// | transaction was lost, or another client deleted the znode   | most three times in all. Any other   |
/// |                                                             | call: over, no_node                  |
/// | anything else                                               | over: that outcome                   |
///
/// Thread-safety: all members, from any thread.
class PendingProclamation : public std::enable_shared_from_this<PendingProclamation> {
 public:
  using Done = GuardedCommit::Done;

  /// See GuardedCommit::start().
  static std::shared_ptr<PendingProclamation> start(
      std::shared_ptr<ProclamationWriter> proclamation_writer, std::string value, Deadline deadline,
      Done done);
  /// Withdraws what has not been sent yet. `done` is still called.
  void withdraw();

 private:
  EngineLock::Entry entry() const noexcept { return {proclamation_writer_->core()}; }
  PendingProclamation(std::shared_ptr<ProclamationWriter> proclamation_writer, std::string value,
                      Deadline deadline, Done done);
  void send();
  void begin(std::shared_ptr<GuardedCommit> PendingProclamation::*registered,
             const std::shared_ptr<GuardedCommit>& commit);
  /// Handle the outcomes of the two transactions.
  void on_created(std::optional<Error> error);
  void on_value_written(std::optional<Error> error);
  /// Returns the error of the first transaction if it explains why there is no proclaimed znode.
  /// REQUIRES: the engine mutex is held.
  std::optional<Error> creation_failure() const;

  const std::shared_ptr<ProclamationWriter> proclamation_writer_;
  const std::uint64_t number_;  ///< of this call, among those of the writer
  const std::string value_;
  const Deadline deadline_;

  // under the engine mutex
  Done done_;
  int attempts_left_ = 3;
  bool given_up_ = false;
  /// Whether the outcome of the first transaction is still awaited.
  bool creation_pending_ = false;
  std::optional<Error> not_created_;
  /// The error of the second transaction, until the outcome of the first one explains it.
  std::optional<Error> unexplained_;
  std::shared_ptr<GuardedCommit> creating_;
  std::shared_ptr<GuardedCommit> writing_;
};

}  // namespace zklock::detail
