// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>
#include <cstddef>

namespace zklock::core {

LeaseEvidence::LeaseEvidence(Duration timeout, Instant attempt_began, Instant now)
    : timeout_(timeout),
      relay_(timeout / 4),
      slack_(relay_ / 16),
      handshake_(std::min(attempt_began, now)) {}

void LeaseEvidence::answered(Instant sent, Instant now) {
  // Between two packets closer together than this, a third proves nothing more.
  const std::size_t kept = packets_.size();
  if (kept > 1 && sent - packets_[kept - 2].sent < timeout_ / 48) packets_.pop_back();
  packets_.push_back({sent, now});
  // One packet that was surely relayed is as far back as anything looks.
  while (packets_.size() > 1 && surely_relayed(packets_[1], sent)) packets_.pop_front();
}

Instant LeaseEvidence::lease(Instant sent) const {
  return leaders_news(sent) + timeout_ - timeout_ / 12;
}

bool LeaseEvidence::surely_relayed(const Packet& packet, Instant by) const {
  return packet.answered <= by - relay_ - slack_;
}

// Walks back from the operation. The last half tick lies somewhere in (t - R, t]; for every pair of
// neighbours that it may fall between, a gap wider than R/2 lets the leader's news be as old as the
// packet before the gap.
Instant LeaseEvidence::leaders_news(Instant t) const {
  Instant heard = t - relay_;
  Instant next_arrived_by = t;
  for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
    if (next_arrived_by - packet->sent > (relay_ - slack_) / 2)
      heard = std::min(heard, packet->sent);
    if (surely_relayed(*packet, t)) return heard;
    next_arrived_by = packet->answered;
  }
  // No packet was surely relayed: the last news may be the handshake itself.
  return std::min(heard, handshake_);
}

}  // namespace zklock::core
