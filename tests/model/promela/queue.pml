/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of one lock path. CLIENTS contenders have ROUNDS acquisitions and FAULTS faults each,
 * at any moment. The comment beside a step names the step of the library. The states are those of
 * zklock/core/acquire_state.h.
 *
 * A step of the ensemble is atomic, because the ensemble executes one operation after the other.
 * The client processes a reply or an event in a later step. A lease is valid only while its session
 * is alive; lease.pml checks that.
 *
 * A znode stands for its contender. The queue is the list of the existing znodes, in the order of
 * their sequence numbers, which is the order of their tokens. The model has no sequence numbers.
 * `made_last` shows whether two numbers are adjacent. The path is never deleted, no other program
 * creates or changes its znodes, and a client has one session at a time. So each announced release
 * is that of a holder. The simulation covers everything else.
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
#define ORPHAN 254                      /* a znode that a broken client leaves behind */
#define MOST_NODES (2 * CLIENTS)

mtype = { quiet, changed, deleted };    /* request::WatchEvent, of the watch that a client has */

/* The ensemble: the queue of contenders, and the contender whose znode each client watches. */
byte queue[MOST_NODES] = NOBODY;
byte length;
byte watch[CLIENTS] = NOBODY;
byte made_last = NOBODY;                /* creator of the highest sequence number so far */

/* Events that a client has received and not processed. */
mtype event[CLIENTS] = quiet;
bool expired[CLIENTS];                  /* its session has ended, and its znode is deleted */

/* The state of a client. */
bool waiting[CLIENTS];
bool holds[CLIENTS];                    /* HoldState::held */
bool lost[CLIENTS];                     /* the loss was notified */

byte faults[CLIENTS] = FAULTS;
byte holders;
hidden byte i;
hidden byte at;
hidden byte follows;                    /* 1: the number directly follows its creator's last */

/* ---- the ensemble; all of it within a step --------------------------------------------------- */

/* Sets `at` to the position of the first znode of `who`, or to `length`. */
inline find(who) {
  at = 0;
  do
  :: at < length && queue[at] != who -> at++
  :: else -> break
  od
}

inline create(who) {
  find(who);
  assert(at == length);                 /* I7: a contender has one znode, even after a lost reply */
  assert(length < MOST_NODES);
  queue[length] = who;
  length++;
  follows = (made_last == who);
  made_last = who
}

/* Deletes the znode of `who`, and sends the event `what` to the clients that watch it. */
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

/* By then its lease has expired, and the loss of its hold was notified: G3. */
inline end_session(who) {
  if
  :: holds[who] ->
     assert(!lost[who]);                /* I4: a loss is notified once */
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

/* ---- a client -------------------------------------------------------------------------------- */

/* LockNode::grant(). */
inline grant(me) {
  waiting[me] = false;
  holds[me] = true;
  holders++;
  assert(holders == 1);                 /* I1: no other client holds */
  assert(queue[0] == me)                /* I6: no znode is ahead of it; so tokens increase: I2 */
}

inline forget_watch(me) {
  watch[me] = NOBODY;
  event[me] = quiet
}

proctype Client(byte me) {
  byte round;
  byte before = NOBODY;                 /* the contender that it waits for */
  bool had_turn;                        /* its last znode was granted, released and deleted */

next_round:
  atomic {
    if
    :: round == ROUNDS -> goto finished
    :: else -> round++; waiting[me] = true
    fi
  };

enqueuing:                              /* create2, and CountChildren, which is sent with it */
  atomic {
    expired[me] = false;
    forget_watch(me);
    if
    :: create(me);
       if
       :: had_turn && follows == 1 -> had_turn = false; goto first   /* SequenceHint::is_first() */
       :: had_turn = false; goto counting
       fi
    :: faults[me] > 0 ->                                                /* the reply was lost */
       faults[me]--; had_turn = false; create(me); goto proving
    :: faults[me] > 0 -> faults[me]--; had_turn = false; goto proving   /* the request was lost */
    fi
  };

proving:                                /* check_path, then a list, to find its own znode */
  atomic {
    find(me);
#ifdef BREAK_NO_PROOF
    if                                  /* a lagging server does not show it yet */
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

guessing:                               /* GetAndWatch of the previous sequence number: guess() */
  atomic {
    find(me);
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] && at > 0 ->
       before = queue[at - 1];
       watch[me] = before;
       goto waits
    :: !expired[me] ->                  /* no znode has that number now */
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

arming:                                 /* GetAndWatch of the listed predecessor */
  atomic {
    find(before);
    if
    :: expired[me] -> before = NOBODY; goto session_lost
    :: !expired[me] && at < length ->   /* a znode with a new number can be behind */
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
    :: !expired[me] && event[me] == changed -> forget_watch(me); goto first /* it was released */
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

giving_up:                              /* Delete: it never held, so it announces nothing */
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

first:                                  /* without a valid lease its own znode is checked */
  atomic {
    before = NOBODY;
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] -> grant(me); goto held
    :: !expired[me] -> goto confirming
    fi
  };

confirming:                             /* check_own: a quorum operation, which gives a lease */
  atomic {
    if
    :: expired[me] -> goto session_lost
    :: !expired[me] -> grant(me); goto held
    fi
  };

held:                                   /* unlock() */
  atomic {
    if
    :: lost[me] -> lost[me] = false; goto next_round    /* nothing is sent; the znode is deleted */
    :: !lost[me] -> holds[me] = false; holders--
    fi
  };
  atomic {                              /* AnnounceAndDelete or Delete, until it is certain */
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
    :: remove(me, deleted)              /* free before, held briefly: may_be_awaited() */
    fi;
#endif
    goto next_round
  };

session_lost:                           /* node_lost(): enqueues again, or its process was killed */
  atomic {
    if
    :: goto enqueuing
    :: waiting[me] = false; goto finished
    fi
  };

finished:
  skip
}

/* Ends a session: its client was cut off, was stopped, or has died. */
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
