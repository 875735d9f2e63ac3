// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>
#include <cstddef>

namespace zklock::core {

LeaseEvidence::LeaseEvidence(Duration timeout, Instant attempt_began, Instant now)
    : timeout_(timeout),
      relay_(timeout / 4),
      slack_(relay_ / 16),
      handshake_(std::min(attempt_began, now)),
      pinging_since_(now),
      last_seen_running_(now) {}

void LeaseEvidence::running(Instant now) {
  if (now - last_seen_running_ > timeout_ / 16) pinging_since_ = now;
  last_seen_running_ = std::max(last_seen_running_, now);
}

bool LeaseEvidence::settled(Instant now) const {
  // For as far back as the proof looks, and one ping before that.
  return now - pinging_since_ >= relay_ + slack_ + widest_ping_gap() + timeout_ / 3;
}

void LeaseEvidence::answered(Instant sent, Instant now) {
  running(now);
  if (now - sent > timeout_ / 48) pinging_since_ = now;
  // Between two packets closer together than this, a third proves nothing more.
  const std::size_t kept = packets_.size();
  if (kept > 1 && sent - packets_[kept - 2].sent < timeout_ / 48) packets_.pop_back();
  packets_.push_back({sent, now});
  // One packet that was surely relayed is as far back as anything looks.
  while (packets_.size() > 1 && surely_relayed(packets_[1], sent)) packets_.pop_front();
}

Instant LeaseEvidence::lease(Instant sent) const {
  Instant heard = proven_by_packets(sent);
  if (settled(sent)) heard = std::max(heard, sent - relay_ - widest_ping_gap());
  return heard + timeout_ - timeout_ / 12;
}

bool LeaseEvidence::surely_relayed(const Packet& packet, Instant by) const {
  return packet.answered <= by - relay_ - slack_;
}

Duration LeaseEvidence::widest_ping_gap() const {
  return timeout_ / 3 + timeout_ / 16 + timeout_ / 48 + timeout_ / 48;
}

// Walks back from the operation. The last half tick lies somewhere in (t - R, t]; for every pair of
// neighbours that it may fall between, a gap wider than R/2 lets the leader's news be as old as the
// packet before the gap.
Instant LeaseEvidence::proven_by_packets(Instant t) const {
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
