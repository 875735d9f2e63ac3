// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "zklock/client/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/recipes/guarded_commit.h"

namespace zklock::recipes {

/// Where one leader proclaims; see core/proclamation.h. The node is made by the first value, guarded
/// by the lock node, and goes with that, in one transaction: nobody sees the leader go on without its
/// value.
///
/// Thread-safety: all members, from any thread.
class Rostrum {
 public:
  /// `leader` leads.
  explicit Rostrum(std::shared_ptr<Contender> leader);
  Rostrum(const Rostrum&) = delete;
  Rostrum& operator=(const Rostrum&) = delete;
  ~Rostrum();

  ClientCore& core() const noexcept { return leader_->engine().core(); }
  const std::shared_ptr<Contender>& leader() const noexcept { return leader_; }
  const std::string& node() const noexcept { return node_; }
  /// From now on the node goes with the leader's. False: that one leads no more.
  bool bind_to_leader() const;
  /// Of that leader, and guarded by its lock node.
  GuardedWrites to_be_there() const;
  GuardedWrites to_say(std::string value) const;

 private:
  GuardedWrites guarded(client::request::Write write) const;

  std::shared_ptr<Contender> leader_;
  const std::string node_;
};

/// One value on its way. Two requests go out back to back, each guarded by the lock node: one that
/// creates the rostrum, and is mostly refused because it is there, and one that writes the value.
/// So values are written in the order of the calls, whatever is known of earlier ones.
///
/// | what the second one answers                  | then                                         |
/// |----------------------------------------------|----------------------------------------------|
/// | no rostrum, and the first failed for good    | over: what the first one answered            |
/// | no rostrum (the first was lost on the way,   | both again, a few times                      |
/// | or somebody deletes them)                    |                                              |
/// | all else                                     | over: that                                   |
///
/// Thread-safety: all members, from any thread.
class Proclaiming : public std::enable_shared_from_this<Proclaiming> {
 public:
  using Done = GuardedCommit::Done;

  /// As GuardedCommit::start().
  static std::shared_ptr<Proclaiming> start(std::shared_ptr<Rostrum> rostrum, std::string value,
                                            Deadline deadline, Done done);
  /// Nobody waits any more: what has not been sent will not be.
  void give_up();

 private:
  Proclaiming(std::shared_ptr<Rostrum> rostrum, std::string value, Deadline deadline, Done done);
  void send();
  void begin(std::shared_ptr<GuardedCommit>& registered,
             const std::shared_ptr<GuardedCommit>& commit);
  void said(std::optional<Error> error);
  /// What the creation failed for, if that is why there is no rostrum.
  std::optional<Error> creation_failure() const;

  const std::shared_ptr<Rostrum> rostrum_;
  const std::string value_;
  const Deadline deadline_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  Done done_;
  int attempts_left_ = 3;
  bool given_up_ = false;
  std::optional<Error> not_created_;
  std::shared_ptr<GuardedCommit> creating_;
  std::shared_ptr<GuardedCommit> saying_;
};

}  // namespace zklock::recipes
