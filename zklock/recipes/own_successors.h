// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "zklock/fencing_token.h"

namespace zklock::recipes {

class Place;

/// Maps a predecessor znode of this session to the place of this client that waits directly behind
/// it. When the holder of the predecessor releases, that place is granted at once, without waiting
/// for the watch event.
///
/// Why this is safe: the queue is in the order of arrival, and the place waits for that znode
/// alone. So no contender can be between the two. When the predecessor was granted, every contender
/// ahead of it had released or its znode had been deleted. The order of the queue does not change,
/// and each place has its own znode and token. Both znodes belong to one session, so they have one
/// lease.
///
/// For a moment both znodes exist, although the first one is released. Contenders of other clients
/// wait for the second one only. But a transaction that checks the first znode could still succeed.
/// So there is no direct grant if such a transaction is possible, or if other znodes are deleted
/// with the first one. Then the place waits for the delete (see Contender::drop() and
/// Place::own_successor()).
///
/// Thread-safety: none. REQUIRES: within a Section of the engine, which owns this object.
class OwnSuccessors {
 public:
  /// Registers `place`, which waits for the znode with the czxid `predecessor`. Replaces a place
  /// that waited for it before. The znode of that place was deleted, and its notification is still
  /// to come.
  void wait(FencingToken predecessor, std::weak_ptr<Place> place) {
    places_[predecessor.zxid] = std::move(place);
  }
  /// Removes `place`, which does not wait for that znode any more.
  void leave(FencingToken predecessor, const std::weak_ptr<Place>& place) noexcept {
    const auto found = places_.find(predecessor.zxid);
    if (found == places_.end()) return;
    const std::weak_ptr<Place>& who = found->second;  // no lock(): it may be the last reference
    const bool same = !who.owner_before(place) && !place.owner_before(who);
    if (same) places_.erase(found);
  }
  void clear() noexcept { places_.clear(); }
  /// Returns the place that waits for the znode with this czxid, or null.
  std::shared_ptr<Place> of(FencingToken predecessor) const noexcept {
    const auto found = places_.find(predecessor.zxid);
    return found == places_.end() ? nullptr : found->second.lock();
  }

  bool empty() const noexcept { return places_.empty(); }

 private:
  std::unordered_map<std::int64_t, std::weak_ptr<Place>> places_;
};

}  // namespace zklock::recipes
