// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <functional>
#include <string>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/background_work.h"

namespace zklock::detail {

class LockNode;

/// The downgrade of a writer to a reader. One transaction deletes the writer's znode and its delay
/// marker, if there is one, and creates a reader's znode with an equal sequence number. So the
/// holder keeps its position in the queue, other readers can be granted, and one of its znodes
/// exists at every moment. The holder counts as a writer until a reply confirms the transaction. If
/// the transaction fails, it stays a writer. If its znode was deleted, it is lost.
///
/// | state           | event                                      | next                  |
/// |-----------------|--------------------------------------------|-----------------------|
/// | writer          | begin(), no reply has shown its own znode  | looking               |
/// |                 | since the last reconnect                   |                       |
/// |                 | begin(), otherwise                         | sending               |
/// | sending         | ok                                         | reader                |
/// |                 | the writer's znode or the path was deleted | ended_as_writer; lost |
/// |                 | the delay marker could not be deleted      | sending, without it   |
/// |                 | outcome unknown, or not sent               | looking               |
/// |                 | throttled                                  | pausing               |
/// |                 | any other, for example node_exists         | ended_as_writer       |
/// | looking         | the writer's znode is its own              | sending               |
/// |                 | the reader's znode is its own              | reader                |
/// |                 | neither is its own                         | ended_as_writer; lost |
/// |                 | outcome unknown                            | looking               |
/// |                 | throttled                                  | pausing               |
/// |                 | any other                                  | ended_as_writer       |
/// | pausing         | (timer)                                    | looking               |
/// |                 | the hold has ended                         | ended_as_writer       |
/// | reader          |                                            | (final)               |
/// | ended_as_writer |                                            | (final)               |
///
/// "lost": calls on_own_node_deleted(), and so the hold is lost. Then the state is ended_as_writer,
/// too.
///
/// The transaction names the writer's znode. If the path was deleted and recreated, that name can
/// be another contender's. The path can be recreated while the transaction waits for a connection.
/// So without a connection it is not sent. A look comes before each repetition. A look also comes
/// first if no reply has shown its own znode since the last reconnect. Exception: if the delay
/// marker could not be deleted, the transaction is repeated at once without it. If the look shows
/// other znodes under both names, or none, its own znode was deleted.
///
/// Once the hold has ended, each step to sending, looking or pausing leads to ended_as_writer
/// instead. So no transaction is sent after the delete that the release sends. A transaction sent
/// before is executed before that delete. The delete looks for both znodes if is_name_unknown().
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its lock node.
class Downgrade {
 public:
  explicit Downgrade(LockNode& lock_node) : node_(lock_node) {}

  /// Begins the downgrade. Has no effect after the first call, or if the znode is not a writer's.
  /// REQUIRES: the owner has released all exclusive counts and keeps shared ones.
  void begin() noexcept;
  /// Ends the retries of a downgrade: the hold has ended.
  void end_hold();

  /// Returns whether no downgrade is in flight.
  bool is_settled() const noexcept {
    return state_ == State::writer || state_ == State::reader || state_ == State::ended_as_writer;
  }
  /// Defers `then` until is_settled().
  void when_settled(std::function<void()> then);
  /// Returns whether the downgrade has succeeded.
  bool is_reader() const noexcept { return state_ == State::reader; }
  /// Returns the name of the reader's znode.
  const std::string& name() const noexcept { return name_; }
  /// Returns whether the znode may have either name. Then a caller must identify it before it is
  /// deleted.
  bool is_name_unknown() const noexcept { return !is_settled() || must_look_; }
  /// Returns whether `node`, the reply to a Get or GetAndWatch of the reader's name, describes this
  /// contender's znode.
  bool is_own_reader_node(const client::Reply& node) const;

 private:
  enum class State { writer, sending, looking, pausing, reader, ended_as_writer };

  void assert_invariants() const noexcept {
    assert(!is_settled() || waiting_.empty());
    assert(is_settled() || must_look_ == (state_ != State::sending));
  }
  using Step = void (Downgrade::*)(const client::Reply&);

  client::ReplyHandler on_reply(Step step);
  void send();
  void sent(const client::Reply& reply);
  void look();
  void read(const std::string& name, Step step);
  void looked_at_writer(const client::Reply& writer);
  void looked_at_reader(const client::Reply& reader);
  void failed(const client::Reply& reply);
  void again();
  void pause();
  void end_as_writer(const client::Reply& reply);
  void lost();
  void settle(State state);

  LockNode& node_;
  std::vector<std::function<void()>> waiting_;  ///< see when_settled()
  bool hold_has_ended_ = false;
  State state_ = State::writer;
  std::string name_;
  /// The outcome of a transaction is unknown: a look comes before the next one.
  bool must_look_ = false;
  BackgroundWork::Id work_{};
  client::TimerId timer_{};
};

}  // namespace zklock::detail
