// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_history.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

/// A lock as the page receives it: the text of json::live_lock().
struct LockText {
  std::string path;
  std::string json;
};

/// The data of the page, as server-sent events for any number of streams.
///
/// | event  | content                                  | sent                                      |
/// |--------|------------------------------------------|-------------------------------------------|
/// | hello  | root, version                            | first                                     |
/// | change | locks, removed                           | then all locks, and when a newer snapshot |
/// |        |                                          | differs; in pieces of about 64 KiB        |
/// | beat   | time, connection, age of the data, sums, | at each on_beat()                         |
/// |        | error                                    |                                           |
///
/// A stream that reads slowly skips snapshots: it receives the difference between the last one that
/// it was sent and the newest. So it needs little memory. Thread-safety: none; pure.
class PageEvents {
 public:
  /// Most locks that the page receives. If there are more, it receives those of most_important().
  static constexpr std::size_t kMostLocks = 5'000;
  /// Most free locks with a past that the page also receives: those that ended last.
  static constexpr std::size_t kMostFree = 1'000;

  PageEvents(std::string root, std::string version);
  PageEvents(const PageEvents&) = delete;
  PageEvents& operator=(const PageEvents&) = delete;

  /// A snapshot as texts. Streams refer to older ones.
  struct Texts {
    std::string pass;             ///< of json::pass()
    std::vector<LockText> locks;  ///< in the order of their paths
  };
  using TextsPtr = std::shared_ptr<const Texts>;
  /// `history`: up to this snapshot. Any thread may call it.
  static TextsPtr texts_of(const Snapshot& snapshot, const LockHistory& history = LockHistory());

  void on_snapshot(TextsPtr texts) { newest_ = std::move(texts); }
  /// Begins a beat.
  void on_beat(json::Beat beat);

  using Change = std::shared_ptr<const std::vector<SharedText>>;

  /// One connected page. REQUIRES: the feed outlives it.
  class Stream {
   public:
    explicit Stream(PageEvents& feed) noexcept : feed_(feed), sent_(feed.nothing_) {}
    /// Returns the next event to send; null if there is none now.
    SharedText next();

   private:
    PageEvents& feed_;
    bool said_hello_ = false;
    TextsPtr sent_;  ///< snapshot that the page has
    Change change_;  ///< being sent; null: none
    TextsPtr change_to_;
    std::size_t sent_pieces_ = 0;   ///< of change_
    std::uint64_t sent_beats_ = 0;  ///< number of the last beat that was sent
  };

 private:
  /// Returns the change events between two snapshots. Stores the last ones, because most streams
  /// need the same.
  Change change_between(const TextsPtr& before, const TextsPtr& now);

  const std::string root_;
  const std::string version_;
  const TextsPtr nothing_ = texts_of(Snapshot());  ///< before the first snapshot
  TextsPtr newest_ = nothing_;
  json::Beat beat_;
  std::uint64_t beats_ = 0;

  TextsPtr change_from_, change_to_;
  Change change_;
};

}  // namespace zklock::cli
