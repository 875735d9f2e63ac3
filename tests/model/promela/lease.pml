/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease of one session, by the clock: the arithmetic of zklock/core/lease_evidence.h, on a server
 * that is cut off from the leader at any moment. One unit is a twelfth of the session timeout T.
 *
 * What it rests on is what the README assumes: the servers' half tick is at most T/4 (the default
 * minSessionTimeout); and T/12 is enough for both, what the leader sends to a server under way to it
 * being late (JITTER), and clocks at different rates (DRIFT). Everything else takes as long as it
 * likes: what the server sends to the leader, answers to the client.
 *
 * Left out, because unit tests settle it: that the packets of the client arrive at its server later,
 * and wider gaps between them. Here they are T/12 apart (they are T/10), and arrive at once.
 *
 * BREAK_... breaks the argument in one place: see check.sh.
 */
#define T 12
#define MOST_HALF_TICK 3                /* T/4 */
#define LEASE 8                         /* 2T/3 after an acknowledged operation was sent */
#ifndef DRIFT
#define DRIFT 0                         /* by which a lease is too long */
#endif
#ifndef JITTER
#define JITTER 1
#endif
#ifdef BREAK_SPARSE
#define HEARTBEAT 4
#else
#define HEARTBEAT 1
#endif
#define SLOTS 3                         /* heartbeats under way */
#define FREE 255
#define NONE 255

/* How long ago, in units. */
byte half_tick;                         /* of these servers */
byte heard;                             /* the leader of the session; at first, by the handshake */
byte asked;                             /* the leader asked the server for news of its sessions */
byte beat = HEARTBEAT;                  /* the client sent a heartbeat */
byte sent[SLOTS] = FREE;                /* each heartbeat that is not answered */
byte proof = NONE;                      /* the last one that was acknowledged was sent */

bool asking;                            /* the leader's question is under way, ... */
byte late;                              /* since when */
bool touched;                           /* the server got a packet since it last told */
bool carried_out[SLOTS];                /* and the answer is under way */
bool cut;                               /* the server is cut off */
bool over;

bool begun;

mtype = { news, nothing, operation };
chan to_leader = [4] of { mtype, byte };

hidden byte i;

#define valid (proof < LEASE + DRIFT)

/* LeaseEvidence::lease(), of the heartbeat in this slot. */
inline acknowledge(slot) {
#ifdef BREAK_RECEIVE_TIME
  proof = 0;
#else
  if
  :: sent[slot] < proof -> proof = sent[slot]
  :: else
  fi;
#endif
  sent[slot] = FREE;
  carried_out[slot] = false
}

/* SessionKeeper::send() of a heartbeat, to its server. */
inline send_heartbeat(slot) {
  sent[slot] = 0;
  beat = 0;
  if
  :: !cut -> touched = true; to_leader!operation(slot)
  :: else
  fi;
#ifdef BREAK_PINGS
  proof = 0                             /* a ping too is answered: by its server, which may be cut off */
#endif
}

active proctype Client() {
  do
  :: atomic { begun && !over && beat >= 1 && sent[0] == FREE && nfull(to_leader) -> send_heartbeat(0) }
  :: atomic { begun && !over && beat >= 1 && sent[1] == FREE && nfull(to_leader) -> send_heartbeat(1) }
  :: atomic { begun && !over && beat >= 1 && sent[2] == FREE && nfull(to_leader) -> send_heartbeat(2) }
  :: atomic { !over && carried_out[0] -> acknowledge(0) }
  :: atomic { !over && carried_out[1] -> acknowledge(1) }
  :: atomic { !over && carried_out[2] -> acknowledge(2) }
  :: over -> break
  od
}

active proctype Server() {
  do
  :: atomic { !cut && asking && nfull(to_leader) ->
       asking = false;
       late = 0;
       if
       :: touched -> touched = false; to_leader!news(0)
       :: else -> to_leader!nothing(0)
       fi
     }
  :: atomic { !cut ->
       cut = true;
       asking = false;
       late = 0;
       touched = false;
       do
       :: to_leader?_, _
       :: empty(to_leader) -> break
       od
     }
  :: over -> break
  od
}

active proctype Leader() {
  byte slot;
  atomic {
    select(half_tick : 1 .. MOST_HALF_TICK);
    select(asked : 0 .. half_tick);
    begun = true
  };
  do
  :: atomic { !cut && !asking && asked == half_tick -> asking = true; asked = 0 }
  :: atomic { to_leader?news(slot) -> heard = 0; slot = 0 }
  :: atomic { to_leader?nothing(slot) -> slot = 0 }
  :: atomic { to_leader?operation(slot) -> carried_out[slot] = true; slot = 0 }
  :: atomic { heard == T ->             /* the session ends, and somebody else may be granted */
       assert(!valid);                  /* G2, G3 */
       over = true;
       break
     }
  od
}

inline grow(age, most) {
  if
  :: age < most -> age++
  :: else
  fi
}

/* Time passes when nobody is due. */
active proctype Clock() {
  do
  :: atomic { begun && !over && heard < T &&
              (cut || (asked < half_tick && (!asking || late < JITTER) && nfull(to_leader) &&
                       beat < HEARTBEAT)) ->
       heard++;
       if
       :: cut -> asked = 0; beat = HEARTBEAT
       :: else ->
          asked++;
          beat++;
          if
          :: asking -> late++
          :: else
          fi
       fi;
       if
       :: proof != NONE -> grow(proof, LEASE + DRIFT)
       :: else
       fi;
       i = 0;
       do
       :: i < SLOTS ->
          if
          :: sent[i] != FREE -> grow(sent[i], T)
          :: else
          fi;
          i++
       :: else -> break
       od
     }
  :: over -> break
  od
}
