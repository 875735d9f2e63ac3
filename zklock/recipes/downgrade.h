// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/recipes/background_work.h"

namespace zklock::recipes {

class Contender;
class Place;

/// A writer that goes on as a reader: one transaction puts a reader's node with the same number in
/// the place of its own, and takes the marker of its delay away, if it has one. So it keeps its
/// place in the queue, other readers get in, and at no moment is there no node of it. Until the
/// answer says so it counts as a writer, in whose place nobody can have come; what cannot be done
/// leaves it one.
///
/// | state     | event                                      | next                               |
/// |-----------|--------------------------------------------|------------------------------------|
/// | writer    | begin()                                    | sending                            |
/// | sending   | ok                                         | reader                             |
/// |           | the reader's node is there                 | asking whose it is                 |
/// |           | the writer's node, or the path, is gone    | kept; the contender has lost it    |
/// |           | the marker is gone                         | sending, without it                |
/// |           | unknown                                    | sending                            |
/// |           | throttled                                  | pausing                            |
/// |           | any other                                  | kept                               |
/// | asking    | it is its own: the answer was lost         | reader                             |
/// |           | there is none any more                     | sending                            |
/// |           | it is another's                            | kept                               |
/// |           | any other                                  | as in sending                      |
/// | pausing   | (timer)                                    | sending                            |
/// | these two | the hold has ended                         | kept                               |
/// | reader,   |                                            | (final)                            |
/// | kept      |                                            |                                    |
///
/// Nothing is sent again once the hold has ended: whatever is deleted then comes after it.
///
/// Thread-safety: within a Section of the engine. Part of its place.
class Downgrade {
 public:
  explicit Downgrade(Place& place) : place_(place) {}

  /// The owner has let go of all that excludes others, and of nothing else. Once in its life.
  void begin();
  /// The hold has ended.
  void end();

  /// Whether the node's name stands for now.
  bool settled() const noexcept {
    return state_ == State::writer || state_ == State::reader || state_ == State::kept;
  }
  bool reads() const noexcept { return state_ == State::reader; }
  /// Of the reader's node.
  const std::string& name() const noexcept { return name_; }
  /// Whether there may be nodes of both names, one of them at a time.
  bool in_doubt() const noexcept { return !settled() || doubtful_; }
  /// Of a reply to a Get of the reader's node: whether it is this contender's.
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

  Place& place_;
  /// Whose hold it is, until it has settled: there may be those who wait for the node's name.
  std::shared_ptr<Contender> contender_;
  State state_ = State::writer;
  std::string name_;
  bool doubtful_ = false;  ///< an answer was lost
  BackgroundWork::Id work_{};
  client::TimerId timer_{};
};

}  // namespace zklock::recipes
