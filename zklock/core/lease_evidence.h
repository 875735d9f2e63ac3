// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "zklock/core/session.h"

namespace zklock::core {

/// How long a session is sure to live on the servers: the arithmetic of the lease.
///
/// The leader expires a session T after it last heard of it. A follower tells the leader of its
/// sessions at every half tick, naming those it got a packet of since the time before. How long
/// half a tick is, the client does not know, but at most R = T/4 (with the default
/// minSessionTimeout of two ticks). So when an operation of the session, sent at t, went through
/// the quorum, the session was alive then, and the leader had heard of it at the last half tick
/// after a packet, where all but the packets of the last R are sure to have had theirs. If the
/// follower is cut off right after, nothing is heard later. Hence
///
///     lease = (a moment that the leader's last news is not older than) + T - T/12
///
/// where T/12 is for jitter and for clocks that run at different rates, and the moment is the
/// latest of those that can be proven. Let g be the widest gap between packets that the last half
/// tick before t may have fallen into. If g is at most half a tick, the news is from that half
/// tick, so younger than R; else it is not older than the packet before the gap, younger than half
/// a tick + g, which is less than 2g:
///
/// | proof                                                          | moment                  |
/// |----------------------------------------------------------------|-------------------------|
/// | packets at most R/2 apart, from before t - R until t           | t - R    (2T/3 left)    |
/// | packets with a wider gap among them                            | the one before the gap  |
/// | nothing older than this connection's handshake, which is told  | t - R, or the handshake |
/// |   to the leader at once, and is not relayed again              |   if that is older      |
///
/// A packet arrived between its sending and its answer: both bounds are used, each where it is the
/// careful one. That is why the C client's pings are no packets here: nobody is told when they were
/// sent and answered, and those of a network that stutters may be late by seconds. So something has
/// to be asked where nothing is held, too: heartbeats every T/10 keep 2T/3, questions every T/5 a
/// good T/3 for the acquire that comes next.
///
/// Thread-safety: none; pure.
class LeaseEvidence {
 public:
  /// A connection was made at `now`; its handshake was sent at `attempt_began` or later. Packets
  /// of an earlier connection say nothing about this one's server.
  LeaseEvidence(Duration timeout, Instant attempt_began, Instant now);

  /// A request sent at `sent` has been answered at `now`. Later answers are of later requests.
  void answered(Instant sent, Instant now);

  /// Until when the session is sure to live, given that an operation that went through the quorum
  /// was sent at `sent`. To be asked before answered() is told of that operation. May have passed.
  Instant lease(Instant sent) const;

 private:
  struct Packet {
    Instant sent;
    Instant answered;
  };

  bool surely_relayed(const Packet& packet, Instant by) const;
  Instant leaders_news(Instant t) const;

  Duration timeout_;
  Duration relay_;
  Duration slack_;  ///< of relay_, by clocks that run at different rates
  Instant handshake_;
  std::deque<Packet> packets_;  ///< newest last; thinned, and no older than needed
};

}  // namespace zklock::core
