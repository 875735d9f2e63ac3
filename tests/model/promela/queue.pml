/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of one lock path: CLIENTS contenders with ROUNDS acquisitions each, and FAULTS for each,
 * at any moment. Beside a step stands what it is in the library; the states are those of the table in
 * zklock/core/acquire_fsm.h.
 *
 * A step of the servers is atomic: they carry out one operation after the other. What a client makes
 * of an answer or an event is a later step of its own. A lease is valid only while its session lives:
 * that is what lease.pml is about.
 *
 * A node stands for its place: the queue is the list of the nodes that are there, in the order of
 * their numbers, which is that of their tokens. So the numbers themselves are not kept; that one is
 * the next after another is known by whose was made last. The path stays, nobody else touches its
 * nodes, and a client has one session at a time: what else can happen is left to the simulation.
 *
 * BREAK_... breaks the protocol in one place: see check.sh.
 */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define NOBODY 255
#define ORPHAN 254                      /* a node that a broken client leaves behind */
#define MOST_NODES (2 * CLIENTS)

mtype = { quiet, changed, deleted };    /* request::WatchEvent, of the watch that a client has */

/* The servers: who stands in the queue, and whose node each watches. */
byte queue[MOST_NODES] = NOBODY;
byte length;
byte watch[CLIENTS] = NOBODY;
byte made_last = NOBODY;                /* who has made the node with the highest number so far */

/* What a client has been told, and not looked at yet. */
mtype event[CLIENTS] = quiet;
bool expired[CLIENTS];                  /* its session has ended; there is no node of it */

/* What a client believes. */
bool waiting[CLIENTS];
bool holds[CLIENTS];                    /* HoldState::held */
bool lost[CLIENTS];                     /* and has been told so */

byte faults[CLIENTS] = FAULTS;
byte holders;
hidden byte i;
hidden byte at;
hidden byte follows;                    /* the new node has the number after its maker's last: 1 */

/* ---- the servers; all of it within a step ------------------------------------------------------- */

/* `at`: where the first node of `who` stands, or `length`. */
inline find(who) {
  at = 0;
  do
  :: at < length && queue[at] != who -> at++
  :: else -> break
  od
}

inline create(who) {
  find(who);
  assert(at == length);                 /* I7: one node of each contender, whatever was lost */
  assert(length < MOST_NODES);
  queue[length] = who;
  length++;
  follows = (made_last == who);
  made_last = who
}

/* Whoever watches it hears `what`. */
inline remove(who, what) {
  find(who);
  if
  :: at < length ->
     do
     :: at + 1 < length -> queue[at] = queue[at + 1]; at++
     :: else -> break
     od;
     length--;
     queue[length] = NOBODY;
     i = 0;
     do
     :: i < CLIENTS ->
        if
        :: watch[i] == who -> watch[i] = NOBODY; event[i] = what
        :: else
        fi;
        i++
     :: else -> break
     od
  :: else
  fi
}

/* By then its lease has lapsed, and its hold has been told lost: G3. */
inline end_session(who) {
  if
  :: holds[who] ->
     assert(!lost[who]);                /* I4: once */
     holds[who] = false;
     lost[who] = true;
     holders--
  :: else
  fi;
  remove(who, deleted);
  watch[who] = NOBODY;
  event[who] = quiet;
  expired[who] = true
}

/* ---- a client ----------------------------------------------------------------------------------- */

/* Place::grant(). */
inline grant(me) {
  waiting[me] = false;
  holds[me] = true;
  holders++;
  assert(holders == 1);                 /* I1: nobody else holds */
  assert(queue[0] == me)                /* I6: whoever came before has gone; so I2: tokens rise */
}

inline forget_watch(me) {
  watch[me] = NOBODY;
  event[me] = quiet
}

proctype Client(byte me) {
  byte round;
  byte before = NOBODY;                 /* whom it waits for */
  bool had_turn;                        /* its last node was granted, let go of, and is gone */

next_round:
  atomic {
    if
    :: round == ROUNDS -> goto finished
    :: else -> round++; waiting[me] = true
    fi
  };

enqueuing:                              /* create2; the count that is sent with it comes next */
  atomic {
    expired[me] = false;
    forget_watch(me);
    if
    :: create(me);
       if
       :: had_turn && follows == 1 -> had_turn = false; goto first           /* OwnTurn::has_come() */
       :: had_turn = false; goto counting
       fi
    :: faults[me] > 0 ->                                                /* the answer was lost */
       faults[me]--; had_turn = false; create(me); goto proving
    :: faults[me] > 0 -> faults[me]--; had_turn = false; goto proving   /* or the request */
    fi
  };

proving:                                /* check_parent, then list, and inspect what may be its own */
  atomic {
    find(me);
#ifdef BREAK_NO_PROOF
    if                                  /* a server that lags does not show it yet */
    :: at = length
    :: skip
    fi;
#endif
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] && at < length -> goto listing
    :: !expired[me] && at == length -> goto enqueuing
    fi
  };

counting:                               /* CountChildren */
  atomic {
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] && length == 1 -> goto first
    :: !expired[me] && length > 1 -> goto guessing
    fi
  };

guessing:                               /* GetAndWatch of the number before its own: guess() */
  atomic {
    find(me);
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] && at > 0 ->
       before = queue[at - 1];
       watch[me] = before;
       goto waits
    :: !expired[me] ->                  /* nobody has it, or has it any more */
#ifdef BREAK_NO_NODE_WAITS
       goto waits
#else
       goto listing
#endif
    fi
  };

listing:                                /* ListChildren, and core::decide() */
  atomic {
    find(me);
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] && at == 0 -> goto first
    :: !expired[me] && at > 0 -> before = queue[at - 1]; goto arming
    fi
  };

arming:                                 /* GetAndWatch of the one that is before it by the list */
  atomic {
    find(before);
    if
    :: expired[me] -> before = NOBODY; goto session_lost
    :: !expired[me] && at < length ->   /* by another number it is another node: not before it */
       i = at;
       find(me);
       if
       :: i < at -> watch[me] = before; goto waits
       :: else -> before = NOBODY; goto listing
       fi
    :: !expired[me] && at == length -> before = NOBODY; goto listing
    fi
  };

waits:
  atomic {
    if
    :: expired[me] ->
       before = NOBODY;
       goto session_lost
    :: !expired[me] && event[me] == changed -> forget_watch(me); goto first /* it held, and let go */
    :: !expired[me] && event[me] == deleted ->
       forget_watch(me);
       before = NOBODY;
#ifdef BREAK_DELETED_IS_GRANT
       goto first
#else
       goto listing
#endif
#ifdef BREAK_GRANT_WITHOUT_LEASE
    /* The event has reached the client, and then the session ended. */
    :: event[me] == changed -> goto unproven
#endif
    :: !expired[me] && faults[me] > 0 -> faults[me]--; goto giving_up   /* a timeout, a cancel */
    fi
  };

#ifdef BREAK_GRANT_WITHOUT_LEASE
unproven:
  atomic {
    before = NOBODY;
    waiting[me] = false;
    holds[me] = true;
    holders++;
    assert(holders == 1);
    goto held
  };
#endif

giving_up:                              /* Delete: it never held, so nothing is announced */
  atomic {
    forget_watch(me);
    before = NOBODY;
    find(me);
    if
    :: at == length
    :: at < length ->
#if defined(BREAK_CANCEL_LEAVES_NODE)
       queue[at] = ORPHAN
#elif defined(BREAK_CANCEL_ANNOUNCES)
       remove(me, changed)
#else
       remove(me, deleted)
#endif
    fi;
    waiting[me] = false;
#ifdef BREAK_TURN_WITHOUT_GRANT
    had_turn = true;
#endif
    goto next_round
  };

first:                                  /* a grant needs a valid lease, else its own node is checked */
  atomic {
    before = NOBODY;
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] -> grant(me); goto held
    :: !expired[me] -> goto confirming
    fi
  };

confirming:                             /* check_own: an operation of the quorum, so a lease */
  atomic {
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] -> grant(me); goto held
    fi
  };

held:                                   /* unlock(): the count is dropped */
  atomic {
    if
    :: lost[me] -> lost[me] = false; goto next_round    /* quiet, and the node is gone */
    :: !lost[me] -> holds[me] = false; holders--
    fi
  };
  atomic {                              /* AnnounceAndDelete, or Delete; later, until that is certain */
#ifdef BREAK_RELEASE_IS_DROPPED
    if
    :: faults[me] > 0 -> faults[me]--; find(me); queue[at] = ORPHAN
    :: else -> remove(me, changed)
    fi;
#else
    if
    :: expired[me]
    :: !expired[me] -> had_turn = true
    fi;
    if
    :: remove(me, changed)
    :: remove(me, deleted)              /* it was free, and not held for long: may_be_awaited() */
    fi;
#endif
    goto next_round
  };

session_lost:                           /* node_lost(): once more; or its process died long ago */
  atomic {
    if
    :: goto enqueuing
    :: waiting[me] = false; goto finished
    fi
  };

finished:
  skip
}

/* A session that ends: its client was cut off, or stood still, or has died. */
proctype Fate(byte who) {
  if
  :: atomic { faults[who] > 0 -> faults[who]--; end_session(who) }
  :: true
  fi
}

init {
  atomic {
    i = 0;
    do
    :: i < CLIENTS -> run Client(i); run Fate(i); i++
    :: else -> break
    od
  };
  atomic { _nr_pr == 1 -> assert(length == 0 && holders == 0) }  /* I8: nothing is left at rest */
}

#ifdef LIVENESS
ltl served { [] (waiting[0] -> <> !waiting[0]) }                /* I9 */
#endif
