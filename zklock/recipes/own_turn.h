// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/node_name.h"
#include "zklock/fencing_token.h"

namespace zklock::recipes {

class LockEngine;

/// How a client knows, without asking, that its new node is the first of the queue: where it has held
/// by node k, and that is gone, the node k + 1 is the first, in the same path.
///
/// For ZooKeeper counts all children that a path has been given, and so none was made between the
/// two. And whoever had come before k was gone, or had let go, when k was granted, exclusively.
///
/// That it is the same path, a watch on it says. What is older than k is the path that k was in; and
/// as long as the watch has not fired, there is no other. The servers tell of an event before they
/// answer what was carried out after it: so it is known when the create is answered. A watch says
/// nothing of what happened while there was no connection: with the next one another is needed.
///
/// Where others lock as well, it would be in vain, and cost a list. So it is expected only after two
/// grants of this client, one right after the other, within a second.
///
/// | watch  | event                                          | next                               |
/// |--------|------------------------------------------------|------------------------------------|
/// | off    | granted right after another of this client     | asking                             |
/// | asking | the path, and its events will come             | armed                              |
/// |        | any other answer                               | off                                |
/// | armed  | the path has gone, or was written to           | off                                |
/// | both   | such a grant on another connection             | asking                             |
/// | all    | no such grant for a second; the last object on | off                                |
/// |        | the path goes                                  |                                    |
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class OwnTurn {
 public:
  /// Of one client: there may be many paths, and the watches of a session are bounded. Those who wait
  /// come first.
  static constexpr int most_watched_paths = 500;

  explicit OwnTurn(LockEngine& engine) : engine_(engine) {}
  OwnTurn(const OwnTurn&) = delete;
  OwnTurn& operator=(const OwnTurn&) = delete;

  /// A node of that number was granted exclusively, in the order of arrival, to who would go by it.
  void granted(core::Sequence number, core::Instant now) noexcept;
  /// What was granted is being deleted. Returns what is to be called, outside of a Section, when it
  /// is gone; it may be empty.
  [[nodiscard]] std::function<void()> let_go(core::Sequence number, FencingToken token);
  /// Whether it can be expected that the next node is the first.
  bool may_come() const noexcept { return in_a_row_ > 0 && is_known(); }
  /// Whether the node of that number, which an answer has just told of, is the first.
  bool has_come(core::Sequence number) const noexcept;
  /// A new session has begun: its tokens may be lower than that of the last node.
  void forget() noexcept { last_.reset(); }
  void end() noexcept;

 private:
  template <class Step>
  auto within_section(Step step);
  template <class Step>
  auto of_this_round(Step step);
  bool watch();
  void look_again(core::Instant when);
  void answered(const client::Reply& reply);
  bool is_known() const noexcept;

  struct Last {
    core::Sequence number;
    FencingToken token;
    bool gone = false;
  };

  LockEngine& engine_;
  std::optional<Last> last_;
  core::Sequence granted_{-2};  ///< last; no number comes after this one
  int in_a_row_ = 0;            ///< the numbers before that, which were granted too
  core::Instant granted_at_{};
  core::Instant not_before_{};  ///< is the path asked for
  bool is_counted_ = false;     ///< among the client's watched_paths()
  client::RequestId watch_{};
  client::TimerId timer_{};       ///< while there is a watch
  std::uint64_t round_ = 0;       ///< of the watch
  std::uint64_t connection_ = 0;  ///< on which it was asked for
  FencingToken path_{};           ///< what made it; 0: not armed
};

}  // namespace zklock::recipes
