// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>

namespace zklock::core {

LeaseEvidence::LeaseEvidence(Duration timeout, Instant attempt_began, Instant now)
    : timeout_(timeout),
      relay_(timeout / 4),
      handshake_(std::min(attempt_began, now)),
      pinging_since_(now),
      last_seen_running_(now) {}

void LeaseEvidence::running(Instant now) {
  if (now - last_seen_running_ > timeout_ / 6) pinging_since_ = now;
  last_seen_running_ = std::max(last_seen_running_, now);
}

bool LeaseEvidence::settled(Instant now) const {
  // The window (t - R - 2R, t] that the proof looks at, and one ping before it.
  return now - pinging_since_ >= 3 * relay_ + timeout_ / 3;
}

void LeaseEvidence::answered(Instant sent, Instant now) {
  running(now);
  if (now - sent > relay_) pinging_since_ = now;
  // Packets closer together than this prove nothing more than one of them.
  if (!packets_.empty() && sent - packets_.back().sent < timeout_ / 48) return;
  packets_.push_back({sent, now});
  // One packet that was surely relayed is as far back as anything looks.
  while (packets_.size() > 1 && packets_[1].answered <= sent - relay_) packets_.pop_front();
}

Instant LeaseEvidence::lease(Instant sent) const {
  Instant heard = proven_by_packets(sent);
  if (settled(sent)) heard = std::max(heard, sent - 2 * relay_);
  return heard + timeout_ - timeout_ / 12;
}

// Walks back from the operation. The last half tick p lies somewhere in (t - R, t]; for every pair
// of neighbours it may fall between, a gap wider than R lets the leader's news be as old as the
// packet before the gap.
Instant LeaseEvidence::proven_by_packets(Instant t) const {
  Instant heard = t - relay_;
  Instant next_arrived_by = t;
  for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
    if (next_arrived_by - packet->sent > relay_) heard = std::min(heard, packet->sent);
    if (packet->answered <= t - relay_) return heard;
    next_arrived_by = packet->answered;
  }
  // The handshake went to the leader itself, and so needs no relaying.
  if (next_arrived_by - handshake_ > relay_) heard = std::min(heard, handshake_);
  return heard;
}

}  // namespace zklock::core
