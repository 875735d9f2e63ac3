// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "zklock/core/session.h"

namespace zklock::core {

/// Computes until when one session is certain to be alive on the servers: the arithmetic of the lease.
///
/// The leader expires a session when it has had no news of it for the session timeout T. Every half
/// tick the leader asks each server which sessions sent a packet since the previous question. The
/// client knows neither the length h of a half tick nor when the questions come. h is at most R = T/4,
/// because minSessionTimeout is two ticks by default. A question is late by at most J = T/24. So when
/// the quorum has carried out an operation that was sent at t, the last question before it came after
/// t - h - J. If the client's server is cut off right after the operation, the leader has no later news
/// than that question brought. Hence
///
///     lease = (a moment at or before the leader's last news) + T - T/12
///
/// T/12 covers J, clock rates that differ by 1/48, and T/48 in which a loss can be reported. The moment
/// is the earliest of these:
///
/// | what the last question brought                           | moment                              |
/// |----------------------------------------------------------|-------------------------------------|
/// | the session: a packet came since the previous question   | t - R                               |
/// | nothing: it fell into a gap of width g between two       | t - 2g - J, or the sending of the   |
/// |   packets                                                |   packet before the gap if later    |
/// | nothing of this connection: only the handshake is known  | the earliest time of the handshake  |
///
/// A packet arrives between its sending and its answer. A gap is measured from sending to answer, so
/// it is never too narrow.
///
/// A server that pauses answers no questions, but operations sent meanwhile may be carried out right
/// after the pause, before the next question. An operation that took longer than J shows such a pause.
/// For it, and for all operations sent up to J after its answer, t is replaced by the sending of the
/// last quorum operation that was answered by t - J. Either the pause began after that operation had
/// been carried out, or a question has been answered since the pause.
///
/// tests/model/smt/lease.smt2 proves this for all histories. The C client's pings are not counted: the
/// client does not learn when they were sent and answered.
///
/// Thread-safety: none; pure.
class LeaseEvidence {
 public:
  /// A connection was established at `now`. Its handshake was sent at `attempt_began` or later.
  /// Packets of an earlier connection prove nothing about this one's server.
  LeaseEvidence(Duration timeout, Instant attempt_began, Instant now);

  /// Records that the request sent at `sent` has been answered at `now`. Requests are answered in the
  /// order of their sending. `by_quorum`: the leader and a majority took part.
  void answered(Instant sent, Instant now, bool by_quorum);

  /// Returns until when the session is certain to be alive, given that a quorum operation sent at
  /// `sent` was answered at `now`. The result may lie in the past. Call it before answered() records
  /// that operation.
  Instant lease(Instant sent, Instant now) const;

  /// Returns until when the session is certain to be alive if the handshake was the last that the
  /// leader heard of it.
  Instant lease_of_handshake() const;

 private:
  struct Packet {
    Instant sent;
    Instant answered;
  };

  bool surely_relayed(const Packet& packet, Instant by) const;
  Instant leaders_news(Instant by, Instant sent) const;
  Instant alive_before(Instant sent) const;
  void remember(std::deque<Packet>& packets, const Packet& packet) const;

  Duration timeout_;
  Duration relay_;                   ///< R: the longest half tick
  Duration lateness_;                ///< J: the most by which a question is late
  Instant handshake_;                ///< sent at or after
  Instant paused_until_;             ///< end of the last pause of a server that was seen, and J
  std::deque<Packet> packets_;       ///< newest last; thinned, and no older than needed
  std::deque<Packet> acknowledged_;  ///< those of them that the quorum answered
};

}  // namespace zklock::core
