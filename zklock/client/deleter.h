// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"

namespace zklock::client {

/// Deletes lock znodes in the background and repeats until the ensemble confirms the delete or the
/// session ends. The only failure is `refused`: the ACL of the parent does not permit DELETE.
///
/// | step       | request           | answer                  | next                     |
/// |------------|-------------------|-------------------------|--------------------------|
/// | announcing | AnnounceAndDelete | not allowed             | looking                  |
/// |            |                   | unknown, or not sent    | looking                  |
/// | looking    | Check, then Get   | it, or not allowed      | deleting                 |
/// |            |                   | another node            | as if it were gone       |
/// | deleting   | Delete            | not allowed             | (done: refused)          |
/// |            |                   | unknown, or not sent    | looking                  |
/// | both, for  |                   | not allowed             | (complain) as if it were |
/// | a companion|                   |                         | gone                     |
/// | all        |                   | ok, or gone             | the same for a companion |
/// |            |                   |                         | that is left; or (done)  |
/// |            |                   | not with this companion | the same without it      |
/// |            |                   | the session goes        | (done)                   |
/// |            |                   | any other               | looking, a little later  |
///
/// What announces and deletes takes the companions along, in one transaction. One that was missing
/// may have been on its way: it is deleted afterwards, when nothing makes it any more that names the
/// node. Where that begins with a look, too, the look is for what it says of itself. Only its creator
/// may announce.
///
/// A node is deleted by its name, and another one may have got that: when all have gone, the
/// servers take the empty parent away, and in the next one the numbers begin again. So whatever is
/// not carried out at once, while it is certain whose the name is, begins with a look: what was
/// carried out perhaps, what would have had to wait for a connection, and what is tried again.
///
/// Thread-safety: all members, from any thread. May be destroyed while deletions are under way.
class Deleter {
 public:
  /// `complain` is called when a companion cannot be deleted. Both ports must outlive the deletions.
  Deleter(Coordinator& coordinator, Scheduler& scheduler,
          std::function<void(const std::string& path, Status why)> complain);

  enum class Manner {
    plainly,    ///< a contender that gave up, or a holder whose successor knows that it let go
    announced,  ///< a holder that let go: its successor may go on without asking
    with_care   ///< plainly; but the node may have gone unnoticed long ago: looks first
  };

  /// A node that is to go with another. What is wrong with it keeps that from nothing.
  struct Companion {
    std::string path;
    /// It says what the holder with this token has proclaimed; 0: its name is no other's.
    FencingToken said_by = {};
  };
  struct Node {
    std::string path;
    /// By which its contender came: it was made by that, or put by its owner into the place of what
    /// was. 0: it is no contender's; then it is of the session that deletes it, or of none.
    FencingToken token = {};
    std::vector<Companion> companions = {};
  };
  enum class End {
    gone,           ///< the ensemble has confirmed that the node is deleted
    session_ended,  ///< the session has ended; servers expire its znodes
    refused         ///< no DELETE permission; znode stays until session end
  };
  /// Called once, when there is no more to do. `node` is what is left to be deleted if it was refused.
  using Done = std::function<void(End end, Node node)>;
  /// Sends at once; does not block.
  void remove(SessionId session, Node node, Manner manner, Done done);

 private:
  struct Ports;
  struct Removal;
  static void submit(const std::shared_ptr<Removal>& removal);
  static void answered(const std::shared_ptr<Removal>& removal, const Reply& reply);
  static bool drops_companion(Removal& removal, const Reply& reply);
  static void look(const std::shared_ptr<Removal>& removal);
  static void gone(const std::shared_ptr<Removal>& removal);
  static void deleted(const std::shared_ptr<Removal>& removal);
  static void refused(const std::shared_ptr<Removal>& removal, Status status);

  std::shared_ptr<Ports> ports_;
};

}  // namespace zklock::client
