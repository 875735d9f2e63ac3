// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>

#include "zklock/core/acquire_messages.h"
#include "zklock/core/session.h"
#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// The lock znode of one contender, as far as the contender knows. There is at most one at a time.
/// If it is lost, another one may follow.
///
/// | state                 | is_created() | exists() | changed by                               |
/// |-----------------------|--------------|----------|------------------------------------------|
/// | none: no create, or   | no           | no       | take(), adopt(): exists                  |
/// | no successful reply   |              |          |                                          |
/// | exists, gate or queue | yes          | yes      | move(): moves; forget(): none            |
/// | moves to the queue    | yes          | no       | take(), adopt(), stay_at_gate(): exists; |
/// |                       |              |          | forget(): none                           |
class OwnNode {
 public:
  /// Returns whether a znode is known and does not move. Another client may have deleted it: see
  /// is_deleted().
  bool exists() const noexcept { return is_created() && !is_moving(); }
  /// Returns whether a znode is known: its create has succeeded, and it was not forgotten. It may
  /// already be deleted.
  bool is_created() const noexcept { return session_.value != 0; }
  /// Where the znode is, or will be created. Exactly one of these three is true.
  bool at_gate() const noexcept { return stage_ == Stage::gate; }
  bool is_moving() const noexcept { return stage_ == Stage::moving; }
  bool in_queue() const noexcept { return stage_ == Stage::queue; }

  const std::string& name() const noexcept { return name_.text; }
  Sequence sequence() const noexcept { return name_.sequence; }
  /// Returns false if is_usable() refuses the number. Then the sequence number defines no order.
  bool has_usable_number() const noexcept { return is_usable(name_.sequence); }
  /// The czxid; if there is no znode, that of the last one.
  FencingToken token() const noexcept { return token_; }
  /// The session that owns it; 0 if there is no znode.
  SessionId session() const noexcept { return session_; }
  /// The session to which requests about the znode are bound. That is the znode's session; without
  /// a znode, the session of the last create. 0 until that create is answered.
  SessionId bound_session() const noexcept { return is_created() ? session_ : create_session_; }
  SessionId create_session() const noexcept { return create_session_; }
  /// Returns whether a move has begun, and no reply has shown since that this znode exists. If the
  /// path was recreated after the move began, another contender's znode may have this name.
  bool is_in_doubt() const noexcept { return is_in_doubt_; }
  /// Returns whether an event said that another client has deleted it.
  bool is_deleted() const noexcept { return is_deleted_; }

  /// A create begins. There is no znode.
  void begin(bool at_gate) noexcept {
    assert(!is_created());
    stage_ = at_gate ? Stage::gate : Stage::queue;
    name_ = {};
    session_ = {};
    create_session_ = {};
    is_deleted_ = is_in_doubt_ = false;
  }
  /// A create was executed, or may have been, in this session.
  void set_create_session(SessionId session) noexcept { create_session_ = session; }
  /// The move to the queue begins.
  void move() noexcept {
    assert(is_created() && at_gate());
    stage_ = Stage::moving;
    is_in_doubt_ = true;
  }
  /// The move was not executed.
  void stay_at_gate() noexcept { stage_ = Stage::gate; }
  /// The create or the move has made this znode.
  void take(const CreatedAnswer& made) {
    if (auto name = ZnodeName::parse(made.name)) {
      name_ = *std::move(name);
    } else {
      name_ = {.text = std::string(made.name), .sequence = kFirstUnusableSequence};
    }
    settle(made.token, made.session);
  }
  /// A search after a lost reply has found this znode.
  void adopt(ZnodeName name, FencingToken token) noexcept {
    name_ = std::move(name);
    settle(token, create_session_);
  }
  /// A list has shown that the path was not recreated.
  void on_path_seen() noexcept { is_in_doubt_ = false; }
  void on_deleted() noexcept { is_deleted_ = true; }
  /// It is deleted, or will be.
  void forget() noexcept { session_ = {}; }

 private:
  enum class Stage : std::uint8_t { gate, moving, queue };

  void settle(FencingToken token, SessionId session) noexcept {
    assert(!exists() && session != SessionId{});
    token_ = token;
    session_ = session;
    if (is_moving()) stage_ = Stage::queue;
    is_in_doubt_ = false;
  }

  ZnodeName name_;
  FencingToken token_;
  SessionId session_;
  SessionId create_session_;
  Stage stage_ = Stage::queue;
  bool is_deleted_ = false;
  bool is_in_doubt_ = false;
};

}  // namespace zklock::core
