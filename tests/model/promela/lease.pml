/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease of one session: the arithmetic of zklock/core/lease_evidence.cpp, on a server that is
 * separated from the leader at any moment. One unit is 1/24 of the session timeout T.
 *
 * The client sends packets (reads and quorum operations) at any distance, and then the quorum
 * operation whose lease is checked. A client's lease is the latest of the leases of all its quorum
 * operations, so it suffices to check one of them. Later packets can only make the session expire
 * later, so the model has none.
 *
 * Assumptions, as in zklock/guides/guarantees.md: a half tick of the servers is at most T/4. A
 * session request of the leader is late by at most T/24 (JITTER). DRIFT is the allowed excess of a
 * lease. One unit covers the T/48 for clock rates and the T/48 in which a loss is notified.
 *
 * These delays are zero. Each of them can only make the lease shorter, or the leader's knowledge
 * newer:
 * - between sending, arrival and reply of a packet before the operation;
 * - from the server to the leader, and from the leader back to the client.
 *
 * Only the operation's way to the server takes time.
 *
 * Bounds: time is discrete, and the client remembers at most PACKETS packets. It sends no further
 * packet while the rule needs all of them. 9 is equivalent to any larger number, because the rule
 * needs at most 9: one that was surely reported, and one for each unit since.
 * tests/model/smt/lease.smt2 has neither bound, and also covers pauses of servers.
 *
 * BREAK_... breaks the argument in one place: see check.sh.
 */
#define T 24
#define R 6                             /* the longest half tick */
#define J 1                             /* T/24 */
#define MARGIN 2                        /* T/12 */
#ifndef DRIFT
#define DRIFT 1
#endif
#ifndef JITTER
#define JITTER 1
#endif
#ifndef PACKETS
#define PACKETS 3
#endif
#define NONE 255

/* The age at which a packet was surely reported: more than R + R/48 + J. */
#ifdef BREAK_RELAYED_WITHOUT_LATENESS
#define SURELY_RELAYED R
#else
#define SURELY_RELAYED (R + J + 1)
#endif

/* Ages in units: the time since the event named. */
byte half_tick;
byte unreported;                        /* time since the leader's last report of it */
byte requested;                         /* the leader's last session request */
byte late;                              /* the session request in flight */
byte handshake;
byte packet[PACKETS];                   /* the packets remembered, the newest first */
byte packets;                           /* number of packets remembered */
byte operation = NONE;                  /* the sending of the quorum operation */
byte back;                              /* the time from the lease's start to that sending */

bool begun;
bool requesting;                        /* a session request is in flight to the server */
bool touched;                           /* the server received a packet since its last reply */
bool carried_out;                       /* the quorum executed the operation */
bool cut;                               /* the server is cut off */
bool over;                              /* the session has ended */

hidden byte i;
hidden byte gap;
hidden byte bound;

#ifdef BREAK_PINGS
#define connected true                  /* a server without the quorum answers pings */
#else
#define connected !cut
#endif

#define valid (carried_out && operation + back < T - MARGIN + DRIFT)

/* LeaseEvidence::on_answered(), for a packet before the operation. */
inline send_packet() {
  i = packets;
  do
  :: i > 0 -> packet[i] = packet[i - 1]; i--
  :: else -> break
  od;
  packet[0] = 0;
  packets++;
  touched = true
}

inline forget_packets() {
  do
  :: packets > 1 && packet[packets - 2] >= SURELY_RELAYED -> packets--; packet[packets] = 0
  :: else -> break
  od
}

/* LeaseEvidence::lease_expiry() */
inline send_operation() {
  operation = 0;
  back = R;
  i = 0;
  do
  :: i == packets ->
#ifndef BREAK_HANDSHAKE
     back = (handshake > back -> handshake : back);
#endif
     break
  :: i < packets ->
     gap = (i == 0 -> packet[0] : packet[i] - packet[i - 1]);
#ifdef BREAK_GAP_COUNTED_ONCE
     bound = gap + J;
#else
     bound = gap + (gap + J < R -> gap + J : R);
#endif
     bound = (packet[i] < bound -> packet[i] : bound);
#ifndef BREAK_GAP_IGNORED
     back = (bound > back -> bound : back);
#endif
     if
     :: packet[i] >= SURELY_RELAYED -> break
     :: else -> i++
     fi
  od;
  /* From here on the packets are not needed. */
  i = 0;
  do
  :: i < PACKETS -> packet[i] = 0; i++
  :: else -> break
  od;
  packets = 0;
  handshake = 0
}

active proctype Client() {
  do
  :: atomic { begun && !over && !cut && operation == NONE && packets < PACKETS &&
              (packets == 0 || packet[0] > 0) -> send_packet() }
  :: atomic { begun && !over && operation == NONE -> send_operation() }
  :: over -> break
  od
}

active proctype Server() {
  do
  :: atomic { !over && !cut && requesting ->
       requesting = false;
       late = 0;
       if
       :: touched -> touched = false; unreported = 0
       :: else
       fi
     }
  :: atomic { !over && connected && operation != NONE && !carried_out ->
       carried_out = true;
       touched = !cut;
#ifdef BREAK_RECEIVE_TIME
       operation = 0
#endif
     }
  :: atomic { begun && !over && !cut ->
       cut = true;
       requesting = false;
       requested = 0;
       late = 0;
       touched = false
     }
  :: over -> break
  od
}

active proctype Leader() {
  atomic {
    select(half_tick : 1 .. R);
    select(requested : 0 .. half_tick);
    begun = true
  };
  do
  :: atomic { !cut && !requesting && requested == half_tick -> requesting = true; requested = 0 }
  :: atomic { unreported == T ->        /* the session ends, and another client can be granted */
       assert(!valid);                  /* G2, G3 */
       over = true;
       break
     }
  od
}

inline grow(age) {
  if
  :: age < T -> age++
  :: else
  fi
}

/* Time passes when nothing is due. */
active proctype Clock() {
  do
  :: atomic { begun && !over && unreported < T &&
              (cut || (requested < half_tick && (!requesting || late < JITTER))) ->
       unreported++;
       if
       :: cut
       :: else ->
          requested++;
          if
          :: requesting -> late++
          :: else
          fi
       fi;
       if
       :: operation == NONE ->
          grow(handshake);
          i = 0;
          do
          :: i < packets -> grow(packet[i]); i++
          :: else -> break
          od;
          forget_packets()
       :: else -> grow(operation)
       fi
     }
  :: over -> break
  od
}
