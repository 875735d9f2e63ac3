// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "zklock/fencing_token.h"

namespace zklock::recipes {

class Place;

/// Who waits in a queue for a node of its own client and session, to be granted when its holder lets
/// go: it need not wait for the servers to tell what the client itself does.
///
/// For who waits for one node, in the order of arrival, is the next: nobody can come between the two
/// any more, and whoever stood before that node was gone, or had let go, when it was granted. The
/// order of the queue stays as it is, and each has a node and a token of its own. The session is the
/// same, and so is the lease: both nodes go with it.
///
/// The servers have both nodes for a moment longer. Others who wait do so for the last one only. But
/// a transaction that checks the first one would still be carried out: where there may be one, and
/// where something goes with the node, who waits does so until it is gone, as everybody else (see
/// Contender::drop() and Place::own_successor()).
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class OwnSuccessors {
 public:
  /// It waits for the node that `predecessor` made; instead of another, if that one's node has gone
  /// and it does not know that yet.
  void wait(FencingToken predecessor, std::weak_ptr<Place> place) {
    places_[predecessor.zxid] = std::move(place);
  }
  /// It does not any more.
  void leave(FencingToken predecessor, const std::weak_ptr<Place>& place) noexcept {
    const auto found = places_.find(predecessor.zxid);
    if (found == places_.end()) return;
    const std::weak_ptr<Place>& who = found->second;  // no lock(): that might be the last reference
    const bool same = !who.owner_before(place) && !place.owner_before(who);
    if (same) places_.erase(found);
  }
  void clear() noexcept { places_.clear(); }
  /// Null when there is none.
  std::shared_ptr<Place> of(FencingToken predecessor) const noexcept {
    const auto found = places_.find(predecessor.zxid);
    return found == places_.end() ? nullptr : found->second.lock();
  }

  bool empty() const noexcept { return places_.empty(); }

 private:
  std::unordered_map<std::int64_t, std::weak_ptr<Place>> places_;
};

}  // namespace zklock::recipes
