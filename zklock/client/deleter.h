// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"

namespace zklock::client {

/// Deletes lock nodes in the background, again and again until the servers say that the node is
/// gone or its session is. So a release or a withdrawal cannot fail, only take its time.
///
/// | step       | request           | answer             | next       |
/// |------------|-------------------|--------------------|------------|
/// | announcing | AnnounceAndDelete | not allowed        | looking    |
/// | looking    | Get               | it, or not allowed | deleting   |
/// |            |                   | another node       | (done)     |
/// | deleting   | Delete            | not allowed        | (complain) |
/// | all        |                   | ok, gone           | (done)     |
/// |            |                   | any other          | the same   |
///
/// Only its creator may announce. Where that is refused, the node may be another one that has got
/// the name: the parent was deleted, and made anew.
///
/// Thread-safety: all members, from any thread. May be destroyed while deletions are under way.
class Deleter {
 public:
  /// `complain` is told when a node cannot be deleted before its session ends (NOAUTH). Both
  /// ports must outlive the deletions.
  Deleter(Coordinator& coordinator, Scheduler& scheduler,
          std::function<void(const std::string& path, Status why)> complain);

  enum class Manner {
    plainly,   ///< a contender that gave up, or lost its hold
    announced  ///< a holder that let go: its successor may go on without asking
  };

  /// The node that was made by `token`. `done` is called once, when that is certain. Sends at once;
  /// does not block.
  void remove(SessionId session, std::string path, FencingToken token, Manner manner,
              std::function<void()> done);

 private:
  struct Ports;
  struct Removal;
  static void submit(const std::shared_ptr<Removal>& removal);
  static void answered(const std::shared_ptr<Removal>& removal, const Reply& reply);
  static void refused(const std::shared_ptr<Removal>& removal, Status status);

  std::shared_ptr<Ports> ports_;
};

}  // namespace zklock::client
