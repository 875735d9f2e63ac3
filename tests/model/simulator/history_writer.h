// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/model/history.h"
#include "tests/model/simulator/universe.h"

namespace zklock::simulator {

using model::Event;
using model::History;

/// Returns the lock path with that number.
std::string path_of(int path);
/// Returns the path that guarded transactions of that lock write.
std::string data_path_of(int path);

/// Returns the resource number of that path of that ensemble in the history.
constexpr std::uint32_t resource_of(std::size_t ensemble, int path) noexcept {
  return static_cast<std::uint32_t>(1 + ensemble * 8 + static_cast<std::size_t>(path));
}
/// Returns the resource number of the data that the lock guards.
constexpr std::uint32_t guarded_by(std::uint32_t resource) noexcept {
  return resource + 1000;
}
constexpr std::uint32_t resource_of_quorum(int path) noexcept {
  return static_cast<std::uint32_t>(100 + path);
}
inline constexpr std::uint32_t kResourceOfMulti = 200;

/// Writes the history: the events passed to note(), and the events of the ensembles.
///
/// Thread-safety: none.
class HistoryWriter {
 public:
  HistoryWriter(Universe& universe, const Setup& setup);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  /// Appends the event with the present time. After Kind::rest it appends nothing.
  void note(Event event);
  const History& history() const noexcept { return history_; }
  /// Called for each event when it is appended.
  std::function<void(const Event&)> on_event = {};

  /// Records that this znode is being deleted, or its session ended, by hand.
  void taken(std::size_t ensemble, std::int64_t czxid) { taken_.emplace(ensemble, czxid); }
  /// Records that the znode with this name is deleted by hand. After the parent is recreated,
  /// another znode can get its name. A request in flight to the first znode can then delete the
  /// other.
  void taken_name(std::size_t ensemble, const std::string& path) {
    taken_names_.emplace(ensemble, path);
    // After a downgrade this token differs from the czxid. A grant with it can be noted later.
    const auto found = nodes_[ensemble].find(path);
    if (found != nodes_[ensemble].end()) taken(ensemble, found->second.token);
  }
  /// Returns the czxid of the contender's first znode, which a downgrade replaces. Returns 0 if the
  /// path is no contender's znode.
  std::int64_t token_of(std::size_t ensemble, const std::string& path) const {
    const auto found = nodes_[ensemble].find(path);
    return found == nodes_[ensemble].end() ? 0 : found->second.token;
  }
  bool is_taken(std::size_t ensemble, std::int64_t czxid) const {
    return taken_.contains({ensemble, czxid});
  }
  /// The next znode is created by another program.
  void expect_stranger() noexcept { stranger_ = true; }
  void expect_no_stranger() noexcept { stranger_ = false; }
  /// The guarded transaction with that number can be executed from now on.
  void expect_commit(std::uint32_t number, std::size_t ensemble, std::string node);
  std::uint64_t stale_refused() const noexcept { return stale_refused_; }
  std::uint64_t count(Event::Kind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)];
  }

 private:
  class EnsembleListener;
  struct Commit {
    std::size_t ensemble;
    std::string node;
  };
  void node_made(std::size_t ensemble, const std::string& path);
  void node_deleted(std::size_t ensemble, const std::string& path);
  /// Returns the time after which `session` has sent the request that the server executes: the
  /// beginning of its connection. If that is unknown, returns the earliest time.
  Instant sent_after(core::SessionId session);
  void said_released(std::size_t ensemble, const std::string& path);
  void data_set(std::size_t ensemble, const std::string& path);
  void proclaimed(std::size_t ensemble, const std::string& path);
  void committed(std::size_t ensemble, int path, FencingToken token, std::uint32_t number);

  Universe& universe_;
  const int paths_;
  History history_;
  bool over_ = false;
  bool stranger_ = false;
  std::string announced_;  ///< znode whose announced delete is the next event
  std::set<std::pair<std::size_t, std::int64_t>> taken_;
  std::set<std::pair<std::size_t, std::string>> taken_names_;
  std::set<std::pair<std::uint32_t, std::int64_t>> granted_;  ///< key: resource and token
  std::vector<std::unique_ptr<EnsembleListener>> listeners_;
  struct KnownNode {
    std::uint32_t resource;
    std::int64_t token;
    core::SessionId owner;
    Instant made_at;
  };
  std::vector<std::unordered_map<std::string, KnownNode>> nodes_;  ///< index: the ensemble
  std::unordered_map<std::uint32_t, Commit> commits_;
  std::uint64_t stale_refused_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Event::Kind::fault) + 1> counts_{};
};

}  // namespace zklock::simulator
