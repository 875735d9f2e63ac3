// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/recipes/contender.h"

namespace zklock::recipes {

/// What a GuardedTransaction consists of.
struct GuardedWrites {
  std::vector<std::shared_ptr<Contender>> guards;  ///< of one client; at least one
  std::vector<client::request::Write> writes;
  const char* operation = "commit";  ///< for the texts of errors

  const std::string& lock_path() const noexcept { return guards.front()->engine().path().str(); }
};

/// One commit, from the look at the holds to the answer.
///
/// | state     | event                         | becomes                                    |
/// |-----------|-------------------------------|--------------------------------------------|
/// | new       | a hold is lost, or was        | over: lock_lost                            |
/// |           | else                          | submitted                                  |
/// | submitted | a guard's node is not there   | refused                                    |
/// |           | any other reply               | over: what it says                         |
/// |           | deadline or loss, not sent    | withdrawn                                  |
/// |           | deadline, sent                | over: outcome_unknown                      |
/// |           | loss, sent                    | (the servers know better)                  |
/// | withdrawn | the reply (not_sent)          | over: not_connected or lock_lost           |
/// | refused   | the node has another name     | submitted anew; once given up: over        |
/// |           | it is known to have none      | over: lock_lost                            |
/// |           | deadline or loss              | over: not_connected or lock_lost           |
///
/// Thread-safety: all members, from any thread.
class GuardedCommit : public std::enable_shared_from_this<GuardedCommit> {
 public:
  using Done = std::function<void(std::optional<Error>)>;

  /// `done` is called once, with no lock held, on a thread that must not be kept, or before start()
  /// returns; it runs no user code. Throws Error(closed | forked); then it is not called.
  static std::shared_ptr<GuardedCommit> start(const GuardedWrites& writes, Deadline deadline,
                                              Done done);
  /// start() in two steps: the caller can register the commit before anything is sent. make() throws
  /// as start(). begin() sends and does not block. After give_up(), begin() sends nothing and calls
  /// `done`.
  static std::shared_ptr<GuardedCommit> make(const GuardedWrites& writes, Deadline deadline,
                                             Done done);
  void begin();
  /// Nobody waits any more: what has not been sent will not be.
  void give_up();
  /// What start() would not send.
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

  ClientCore& core() const noexcept { return what_.guards.front()->engine().core(); }
  const std::string& lock_path() const noexcept { return what_.lock_path(); }

  void submit();
  void answered(const client::Reply& reply, const std::vector<std::string>& nodes);
  void deadline_passed();
  bool withdraw(Errc why);
  std::optional<Error> verdict(const client::Reply& reply);
  std::optional<Error> error_of_operation(const client::Reply& reply) const;
  void finish(std::optional<Error> error);

  const GuardedWrites what_;
  const Deadline deadline_;
  std::list<std::stop_callback<OnLoss>> on_loss_;  // of start(), then of finish()

  std::mutex mutex_;
  // guarded by mutex_
  Done done_;
  client::RequestId request_{};
  client::TimerId timer_{};
  std::optional<Errc> withdrawn_;  ///< why
  bool refused_ = false;           ///< nothing is under way
  bool given_up_ = false;          ///< nothing is sent any more
  bool over_ = false;
};

}  // namespace zklock::recipes
