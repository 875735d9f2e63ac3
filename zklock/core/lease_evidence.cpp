// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>
#include <cstddef>

namespace zklock::core {

LeaseEvidence::LeaseEvidence(Duration timeout, Instant attempt_began, Instant now)
    : timeout_(timeout),
      longest_half_tick_(timeout / 4),
      lateness_(timeout / 24),
      handshake_(std::min(attempt_began, now)),
      paused_until_(Instant::min()) {}

void LeaseEvidence::on_answered(Instant sent, Instant now, AnsweredBy by) {
  if (now - sent > lateness_) paused_until_ = now + lateness_;
  remember(packets_, {sent, now});
  if (by != AnsweredBy::server) remember(acknowledged_, {sent, now});
  // Later operations are sent at or after `sent`. A lease that counts from more than T ago has
  // ended. So lease_expiry() needs no packet before the first of these.
  while (acknowledged_.size() > 1 && acknowledged_[1].answered <= sent - lateness_) {
    acknowledged_.pop_front();
  }
  const Instant earliest = std::max(alive_before(sent), sent - timeout_);
  while (packets_.size() > 1 && surely_reported(packets_[1], earliest)) packets_.pop_front();
}

// If two packets are closer together than T/48, a third one between them proves nothing more.
void LeaseEvidence::remember(std::deque<Packet>& packets, const Packet& packet) const {
  const std::size_t count = packets.size();
  if (count > 1 && packet.sent - packets[count - 2].sent < timeout_ / 48) packets.pop_back();
  packets.push_back(packet);
}

Instant LeaseEvidence::lease_expiry(Instant sent, Instant now) const {
  const bool paused = now - sent > lateness_ || sent < paused_until_;
  const Instant contact = last_contact_of_leader(paused ? alive_before(sent) : sent, sent);
  return lease_expiry_after(contact, timeout_);
}

Instant LeaseEvidence::alive_before(Instant sent) const {
  for (auto packet = acknowledged_.rbegin(); packet != acknowledged_.rend(); ++packet) {
    if (packet->answered <= sent - lateness_) return packet->sent;
  }
  return handshake_;
}

Instant LeaseEvidence::handshake_lease_expiry() const {
  return lease_expiry_after(handshake_, timeout_);
}

// A half tick is longer by up to 1/48 on the client's clock if the leader's clock is slow.
bool LeaseEvidence::surely_reported(const Packet& packet, Instant by) const {
  return packet.answered <= by - longest_half_tick_ - longest_half_tick_ / 48 - lateness_;
}

// Walks back over the gaps into which the last session request before the operation may have
// fallen. Session requests came regularly until `by`.
Instant LeaseEvidence::last_contact_of_leader(Instant by, Instant sent) const {
  Instant contact = by - longest_half_tick_;
  Instant next_arrived_by = sent;
  for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
    const Duration gap = next_arrived_by - packet->sent;
    const Duration half_tick = std::min(longest_half_tick_, gap + lateness_);
    contact = std::min(contact, std::max(packet->sent, by - gap - half_tick));
    if (surely_reported(*packet, by)) return contact;
    next_arrived_by = packet->answered;
  }
  // Not even the first packet was surely reported: the leader may know the handshake only.
  return std::min(contact, handshake_);
}

}  // namespace zklock::core
