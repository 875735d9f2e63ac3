// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "zklock/core/session.h"
#include "zklock/core/status.h"

namespace zklock::core {

/// Computes until when one session is certain to be alive on the ensemble: the arithmetic of the
/// lease.
///
/// The leader expires a session that no server has reported for the session timeout T. Every half
/// tick (h) the leader sends each server a session request. The server's reply names the sessions
/// that sent a packet since the previous session request. A session request is said to name a
/// session if its reply does. The assumption is that a server that has answered a packet names its
/// session in the next reply. A race of a few instructions in the server (LearnerSessionTracker)
/// can break this, and is neglected. The client knows neither h nor the times of these requests. h
/// is at most R = T/4, because minSessionTimeout is two ticks by default. A session request is late
/// by at most J = T/24.
///
/// Take an operation sent at t that the quorum has executed. Suppose that the client's server is
/// cut off right after the operation. Then q, the last session request that reaches the server,
/// came after t - h - J. Let a be a time such that the last contact of the leader with the session
/// is at a or later. The lease ends at
///
///     a + T - T/12
///
/// T/12 is the sum of J, of T/48 for clock rates that differ by 1/48, and of T/48 to report a loss.
/// The time a depends on q. If several of these rows can apply, the earliest a counts:
///
/// | q                                                     | a                                  |
/// |-------------------------------------------------------|------------------------------------|
/// | named the session                                     | t - R                              |
/// | did not name it: q fell into a gap of width g between | max(sending of p,                  |
/// | a packet p and the packet after it                    | t - g - min(R, g + J)) (1)         |
/// | may have come before all packets of this connection   | the earliest time of the handshake |
///
/// (1) Let n be the last session request that named the session. No packet arrived from n to q, so
/// q - n < g. Session requests are at least h - J apart, so h < g + J. Besides, h is at most R. So
/// n > q - g > t - h - J - g, and h is at most min(R, g + J). T/12 contains that J. Right after a
/// pause of a server, two session requests can be closer together than h - J. So zklock assumes
/// that q is not the second of these. This holds if the leader and the client's server stay
/// connected for two half ticks and T/12 after the pause.
///
/// A packet arrives between its sending and its answer. A gap is measured from the sending of p to
/// the answer to the packet after it. So it is never wider than measured. If the operation itself
/// ends the gap, its answer does not count: g is measured until t. That is safe: t - g is then the
/// sending of p, which is the later of the two times in that row.
///
/// The client's server, or the leader, can be paused. A paused server answers no session requests,
/// and a paused leader sends none. Operations sent meanwhile may be executed right after the pause,
/// before the next session request. A round trip longer than J reveals the pause. Let u be the
/// sending time of the last operation, a sync included, that the leader answered at or before t -
/// J. In the table, u replaces t for a slow operation: one with a round trip longer than J. It also
/// replaces t for the operations sent within J after the answer to a slow one. The leader processed
/// the operation of u before or after the pause:
///
/// | processed        | why u is safe                                                          |
/// |------------------|------------------------------------------------------------------------|
/// | before the pause | session requests came regularly until u, so q came after u - h - J     |
/// | after the pause  | the pause ended before the answer to u, so at t - J or earlier. Within |
/// |                  | J of its end, so before t, the server answers a session request. The   |
/// |                  | following ones come regularly. So q came after t - h - J               |
///
/// tests/model/smt/lease.smt2 proves this for all histories. Pings of the C client are not counted:
/// the client does not learn when they were sent and answered.
///
/// Thread-safety: none; pure.
class LeaseEvidence {
 public:
  /// A connection was established at `now`. Its handshake was sent at `attempt_began` or later.
  /// Packets of an earlier connection prove nothing about this one's server.
  LeaseEvidence(Duration timeout, Instant attempt_began, Instant now);

  /// Records that the request sent at `sent` has been answered at `now`. REQUIRES: called in the
  /// order of the sending. `by`: the servers that took part in the answer.
  void on_answered(Instant sent, Instant now, AnsweredBy by);

  /// Returns until when the session is certain to be alive, given that a quorum operation sent at
  /// `sent` was answered at `now`. The result may lie in the past. Call it before on_answered()
  /// records that operation.
  Instant lease_expiry(Instant sent, Instant now) const;

  /// Returns until when the session is certain to be alive if the leader knows it by the handshake
  /// only.
  Instant handshake_lease_expiry() const;

  /// Returns until when a session with this timeout is certain to be alive. REQUIRES: the leader
  /// learned at `contact` or later that the session had sent a packet.
  static Instant lease_expiry_after(Instant contact, Duration timeout) noexcept {
    return contact + timeout - timeout / 12;
  }

 private:
  struct Packet {
    Instant sent;
    Instant answered;
  };

  bool surely_reported(const Packet& packet, Instant by) const;
  Instant last_contact_of_leader(Instant by, Instant sent) const;
  Instant alive_before(Instant sent) const;
  void remember(std::deque<Packet>& packets, const Packet& packet) const;

  Duration timeout_;
  Duration longest_half_tick_;       ///< R
  Duration lateness_;                ///< J, the largest lateness of a session request
  Instant handshake_;                ///< earliest sending time of the handshake
  Instant paused_until_;             ///< end of the last observed pause, plus J
  std::deque<Packet> packets_;       ///< newest last, thinned
  std::deque<Packet> acknowledged_;  ///< those that the leader answered
};

}  // namespace zklock::core
