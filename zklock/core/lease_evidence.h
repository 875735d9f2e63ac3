// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "zklock/core/session.h"

namespace zklock::core {

/// Computes until when one session is certain to be alive on the ensemble: the arithmetic of the
/// lease.
///
/// The leader expires a session when it has not heard of it for the session timeout T. Every half
/// tick (h) the leader asks each server which sessions sent a packet since its previous question.
/// The client knows neither h nor the times of the questions. h is at most R = T/4, because
/// minSessionTimeout is two ticks by default. A question is late by at most J = T/24.
///
/// Take an operation sent at t that the quorum has executed. The last question before it came after
/// t - h - J. Suppose that the client's server is cut off right after the operation. Then that
/// question is the last one by which the leader can have heard of the session. Hence
///
///     lease = (when the leader last heard of the session, or earlier) + T - T/12
///
/// T/12 is the sum of J, of T/48 for clock rates that differ by 1/48, and of T/48 to report a loss.
/// The time in parentheses is the earliest among the rows that can apply:
///
/// | what the last question told the leader                 | time                               |
/// |--------------------------------------------------------|------------------------------------|
/// | the session: a packet came since the previous question | t - R                              |
/// | nothing: it fell into a gap of width g between packets | t - 2g - J (1), or when the packet |
/// |                                                        | before the gap was sent, if later  |
/// | perhaps no packet of this connection: none is certain  | the earliest time of the handshake |
/// | to have come before that question                      |                                    |
///
/// (1) An earlier question told the leader of the session, and no packet came between the two
/// questions. So they are less than g apart. All questions are at least h - J apart, so h < g + J.
/// The earlier question came after t - h - J - g, and so after t - 2g - 2J. T/12 contains one J.
///
/// A packet arrives between its sending and its answer. A gap is measured from the sending of the
/// packet before it to the answer to the packet after it. So the gap is never wider than measured.
///
/// A paused server answers no questions. Operations sent meanwhile may be executed right after the
/// pause, before the following question. A round trip longer than J reveals the pause. For that
/// operation, and for those sent up to J after its answer, an earlier time replaces t. It is the
/// sending time of the last quorum operation answered at or before t - J. If it was executed before
/// the pause, the questions were regular until then. If it was executed after the pause, the
/// following question was answered before t.
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
  /// order of the sending. `by_quorum`: the leader and a majority took part.
  void answered(Instant sent, Instant now, bool by_quorum);

  /// Returns until when the session is certain to be alive, given that a quorum operation sent at
  /// `sent` was answered at `now`. The result may lie in the past. Call it before answered()
  /// records that operation.
  Instant lease(Instant sent, Instant now) const;

  /// Returns until when the session is certain to be alive if the leader has heard of it by the
  /// handshake only.
  Instant lease_of_handshake() const;

 private:
  struct Packet {
    Instant sent;
    Instant answered;
  };

  bool surely_reported(const Packet& packet, Instant by) const;
  Instant last_heard_by_leader(Instant by, Instant sent) const;
  Instant alive_before(Instant sent) const;
  void remember(std::deque<Packet>& packets, const Packet& packet) const;

  Duration timeout_;
  Duration longest_half_tick_;       ///< R, the longest half tick
  Duration lateness_;                ///< J, the largest lateness of a question
  Instant handshake_;                ///< earliest sending time of the handshake
  Instant paused_until_;             ///< end of the last observed pause, plus J
  std::deque<Packet> packets_;       ///< newest last, thinned
  std::deque<Packet> acknowledged_;  ///< quorum-answered packets, newest last, thinned
};

}  // namespace zklock::core
