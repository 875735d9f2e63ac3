// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/engine/held_node_path.h"
#include "zklock/engine/lock_node_parts.h"
#include "zklock/engine/session/background_work.h"

namespace zklock::detail {

/// The downgrade of a writer to a reader. One transaction deletes the writer's znode and its delay
/// marker, if there is one, and creates a reader's znode with an equal sequence number. So the
/// holder keeps its position in the queue, other readers can be granted, and one of its znodes
/// exists at every moment. Until a reply confirms the transaction, the holder counts as a writer.
/// No other contender can have got its position meanwhile. If the transaction fails, it stays a
/// writer.
///
/// | state     | event                                      | next                               |
/// |-----------|--------------------------------------------|------------------------------------|
/// | writer    | begin()                                    | sending                            |
/// | sending   | ok                                         | reader                             |
/// |           | a znode with the reader's name exists      | asking                             |
/// |           | the writer's znode or the path was deleted | kept; the lock node reports it     |
/// |           | the delay marker does not exist            | sending, without it                |
/// |           | outcome unknown                            | sending                            |
/// |           | throttled                                  | pausing                            |
/// |           | any other                                  | kept                               |
/// | asking    | the znode is the reader's: a reply was lost| reader                             |
/// |           | no such znode any more                     | sending                            |
/// |           | the znode is another contender's           | kept                               |
/// |           | any other                                  | as in sending                      |
/// | pausing   | (timer)                                    | sending                            |
/// |           | the hold has ended                         | kept                               |
/// | all but   | the transaction is to be sent again, but   | kept                               |
/// | writer    | the hold has ended                         |                                    |
/// | reader,   |                                            | (final)                            |
/// | kept      |                                            |                                    |
///
/// After the hold has ended, the transaction is not sent again. So the delete of the znode is
/// executed after it.
///
/// Thread-safety: none. REQUIRES: a Lock of the path's monitor. Part of its lock node.
class Downgrade {
 public:
  explicit Downgrade(LockNodeParts& lock_node) : node_(lock_node) {}

  /// Begins the downgrade: the owner has released all exclusive counts and keeps shared ones.
  /// `held_node` is the path that the hold shows. Does nothing after the first call.
  void begin(std::shared_ptr<HeldNodePath> held_node);
  /// Records that the hold has ended.
  void end_hold();

  /// Returns whether no downgrade is under way.
  bool settled() const noexcept {
    return state_ == State::writer || state_ == State::reader || state_ == State::kept;
  }
  bool reads() const noexcept { return state_ == State::reader; }
  /// Returns the name of the reader's znode.
  const std::string& name() const noexcept { return name_; }
  /// Returns whether the znode may have either name.
  bool in_doubt() const noexcept { return !settled() || doubtful_; }
  /// `node`: the reply to a Get of the reader's znode. Returns whether that znode is this
  /// contender's.
  bool made(const client::Reply& node) const;

 private:
  enum class State { writer, sending, asking, pausing, reader, kept };

  using Step = void (Downgrade::*)(const client::Reply&);

  client::ReplyHandler on_reply(Step step);
  void send();
  void sent(const client::Reply& reply);
  void ask();
  void asked(const client::Reply& reply);
  void failed(const client::Reply& reply);
  void again();
  void pause();
  void keep(const client::Reply& reply);
  void settle(State state);

  LockNodeParts& node_;
  /// Until the downgrade has settled: callbacks may wait for the name of the znode.
  std::shared_ptr<HeldNodePath> held_node_;
  bool hold_has_ended_ = false;
  State state_ = State::writer;
  std::string name_;
  bool doubtful_ = false;  ///< a reply was lost
  BackgroundWork::Id work_{};
  client::TimerId timer_{};
};

}  // namespace zklock::detail
