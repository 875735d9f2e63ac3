// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>
#include <cstddef>

namespace zklock::core {

LeaseEvidence::LeaseEvidence(Duration timeout, Instant attempt_began, Instant now)
    : timeout_(timeout),
      relay_(timeout / 4),
      lateness_(timeout / 24),
      handshake_(std::min(attempt_began, now)),
      alive_(handshake_),
      paused_until_(Instant::min()) {}

void LeaseEvidence::answered(Instant sent, Instant now, bool by_quorum) {
  if (now - sent > lateness_) {
    paused_until_ = now + lateness_;
  } else if (by_quorum && sent >= paused_until_) {
    alive_ = sent;
  }
  // A third packet between two that are closer together than this proves nothing more.
  const std::size_t kept = packets_.size();
  if (kept > 1 && sent - packets_[kept - 2].sent < timeout_ / 48) packets_.pop_back();
  packets_.push_back({sent, now});
  // lease() looks no further back than to the first packet that was surely relayed. A lease that
  // counts from more than T ago has ended.
  const Instant earliest = std::max(alive_, sent - timeout_);
  while (packets_.size() > 1 && surely_relayed(packets_[1], earliest)) packets_.pop_front();
}

Instant LeaseEvidence::lease(Instant sent, Instant now) const {
  const bool paused = now - sent > lateness_ || sent < paused_until_;
  return leaders_news(paused ? alive_ : sent, sent) + timeout_ - timeout_ / 12;
}

Instant LeaseEvidence::lease_of_handshake() const {
  return handshake_ + timeout_ - timeout_ / 12;
}

// relay_ / 48: a half tick is that much longer by the client's clock if the leader's clock is slow.
bool LeaseEvidence::surely_relayed(const Packet& packet, Instant by) const {
  return packet.answered <= by - relay_ - relay_ / 48 - lateness_;
}

// Walks back over the gaps that the last question before the operation may have fallen into. Questions
// came regularly until `by`. lateness_ of the gap's moment is part of the T/12 that lease() subtracts.
Instant LeaseEvidence::leaders_news(Instant by, Instant sent) const {
  Instant news = by - relay_;
  Instant next_arrived_by = sent;
  for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
    const Duration gap = next_arrived_by - packet->sent;
    news = std::min(news, std::max(packet->sent, by - 2 * gap - lateness_));
    if (surely_relayed(*packet, by)) return news;
    next_arrived_by = packet->answered;
  }
  // Not even the first packet was surely relayed: the last news may be the handshake.
  return std::min(news, handshake_);
}

}  // namespace zklock::core
