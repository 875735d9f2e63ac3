; SPDX-License-Identifier: Apache-2.0
;
; Proof of the lease arithmetic of zklock/core/lease_evidence.cpp, for all times at once:
;
;     lease + T/48 <= (the leader's last contact with the session) + (the leader's session timeout)
;
; This holds for every half tick, lateness, clock rate and history of packets that the assumptions
; allow. The leader expires the session at the right-hand side at the earliest. T/48 is the reserve
; in which the loss is notified.
;
; Each block states what is known, then the NEGATION of what is to be proved. "unsat" means that no
; counterexample exists. A block that ends in "; expect sat" is a control: a weaker rule for which a
; counterexample must exist. It shows that the premises are satisfiable.
; check.sh compares every answer with the expectation behind it.
;
; Times are real numbers on the client's clock, in units of the session timeout: T = 1.
(set-logic QF_LRA)

(define-fun R () Real (/ 1 4))            ; the longest half tick, minSessionTimeout = two ticks
(define-fun J () Real (/ 1 24))           ; the bound on lateness
(define-fun rate () Real (/ 1 48))        ; the bound on the difference of clock rates
(define-fun margin () Real (/ 1 12))      ; LeaseEvidence::lease_expiry() subtracts it
(define-fun reserve () Real (/ 1 48))
(define-fun min ((a Real) (b Real)) Real (ite (< a b) a b))
(define-fun max ((a Real) (b Real)) Real (ite (< a b) b a))

; The servers.
(declare-const d Real)                    ; the leader's timeout is 1 + d on the client's clock
(assert (and (<= (- rate) d) (<= d rate)))
(define-fun Ts () Real (+ 1 d))
(declare-const h Real)                    ; half a tick
(assert (and (< 0 h) (<= h (/ Ts 4))))

; The quorum operation: sent at t, processed by the client's server at x. The server is separated
; from the leader right after x. q: the server's last reply to a session request of the leader, at
; or before x. contact: the time of the leader's last contact with the session, as of that reply.
(declare-const t Real)
(declare-const x Real)
(declare-const q Real)
(declare-const contact Real)
(assert (and (<= t x) (<= q x)))

; u: session requests are known to have arrived until u; u = t if no pause was observed.
(declare-const u Real)
(assert (<= u t))
(define-fun lease_of ((moment Real)) Real (- (+ moment 1) margin))
(define-fun too_long ((lease Real)) Bool (> (+ lease reserve) (+ contact Ts)))

; Session requests are at most h + J apart, and the servers ran until u. A pause can begin after u.
(assert (> q (- u h J)))

; --- 1. The last reply named the session. The rule gives at most u - R.
(push)
(assert (= contact q))
(assert (too_long (lease_of (- u R))))
(echo "1 named by the last answer: the moment u - R is safe")
(check-sat) ; expect unsat
(pop)

(push)
(assert (= contact q))
(assert (too_long (lease_of (+ (- u R) J))))
(echo "1 control: T/24 later is not safe")
(check-sat) ; expect sat
(pop)

; --- 2. The last reply did not name the session. n: the last reply that did, for a packet that
; arrived at a. b: the arrival of the next packet, known to the client or not. b is after q, so
; nothing arrived between n and q. n2: the reply after n. The client knows two neighbouring packets
; p <= a and p2 >= b, by their sending and reply times.
(declare-const a Real)
(declare-const b Real)
(declare-const n Real)
(declare-const n2 Real)
(declare-const p_sent Real)
(declare-const p2_answered Real)
(define-fun gap () Real (- p2_answered p_sent))
(define-fun unnamed () Bool
  (and (<= a n) (< n n2) (<= n2 q) (< q b)
       (<= p_sent a) (<= b p2_answered)
       (>= (- n2 n) (- h J))            ; requests are at least h - J apart
       (= contact n)))
; The half tick is at most R, and the gap contains two requests.
(define-fun moment ((from Real) (g Real)) Real (max from (- u g (min R (+ g J)))))
(define-fun gap_moment () Real (moment p_sent gap))

(push)
(assert unnamed)
(assert (too_long (lease_of (ite (< gap_moment (- u R)) gap_moment (- u R)))))
(echo "2 not named: the smaller of u - R and the gap's moment is safe")
(check-sat) ; expect unsat
(pop)

(push)
(assert unnamed)
(assert (= u t))
(assert (<= gap (/ R 2)))
(assert (too_long (lease_of (- u R))))
(echo "2 control: a gap of R/2 may not be ignored")
(check-sat) ; expect sat
(pop)

; The operation itself can be the packet after the gap. It is sent at t, so the gap that the client
; computes is too narrow if the operation arrives late. Its moment is still p_sent.
(push)
(assert (and (<= a n) (<= p_sent a) (<= p_sent t) (= contact n)))
(assert (too_long (lease_of (moment p_sent (- t p_sent)))))
(echo "2 not named, the operation ends the gap: safe")
(check-sat) ; expect unsat
(pop)

; --- 3. No packet arrived before q. The leader last heard of the session by the handshake or later.
(push)
(declare-const handshake Real)
(declare-const attempt_began Real)
(assert (and (<= attempt_began handshake) (= contact handshake)))
(assert (too_long (lease_of attempt_began)))
(echo "3 only the handshake: safe")
(check-sat) ; expect unsat
(pop)

; --- 4. The walk goes back from the operation. It stops at the first packet whose reply came at or
; before u - R - R/48 - J. That packet arrived before q, so the walk has visited the gap that
; contains q.
(push)
(declare-const last_arrived Real)
(declare-const last_answered Real)
(assert (and (<= last_arrived last_answered)
             (<= last_answered (- u R (/ R 48) J))))
(assert (>= last_arrived q))
(echo "4 the walk does not end before the gap")
(check-sat) ; expect unsat
(pop)

(push)
(declare-const last_arrived Real)
(declare-const last_answered Real)
(assert (and (<= last_arrived last_answered)
             (<= last_answered (- u R (/ R 16)))))
(assert (>= last_arrived q))
(echo "4 control: T/64 behind R it may end too early")
(check-sat) ; expect sat
(pop)

; --- 5. Packets that the client has forgotten only make the moment earlier. p1 < p2 < p3, and p2 is
; forgotten.
(push)
(declare-const p1 Real)
(declare-const p2 Real)
(declare-const p3 Real)
(declare-const p2_sent Real)
(declare-const p3_answered Real)
(assert (and (<= p1 p2_sent) (<= p2_sent p2) (<= p2 p3_answered)))
(assert (or (> (moment p1 (- p3_answered p1)) (moment p1 (- p2 p1)))
            (> (moment p1 (- p3_answered p1)) (moment p2_sent (- p3_answered p2_sent)))))
(echo "5 forgetting a packet never makes the lease longer")
(check-sat) ; expect unsat
(pop)

; --- 6. A server pauses from f1 to f2, for any length, and sends no reply in between. Right after
; f2 it can execute operations before the next session request, which comes by f2 + J. Session
; requests were regular until f1. alive: the sending time of the last operation with a reply at or
; before t - J. Either it was executed before f1. Or it was executed after f2, and then a session
; request was answered since (cases 1 and 2). The reply to an operation that is sent during the
; pause comes after it. If that takes longer than J, the pause is detected, and u = alive.
(declare-const f1 Real)
(declare-const f2 Real)
(declare-const alive Real)
(define-fun paused () Bool (and (< f1 f2) (<= alive f1) (<= q f1) (> q (- f1 h J)) (<= f2 x)))

(push)
(assert paused)
(assert (= u alive))
(assert (= contact q))
(assert (too_long (lease_of (- u R))))
(echo "6 a pause that was noticed: safe")
(check-sat) ; expect unsat
(pop)

(push)
(assert (and (< f1 f2) (<= q f1) (<= f2 x)))
(assert (not (> q (- t h J))))
(assert (= u alive))
(assert (< alive f1))
(assert (= contact q))
(assert (= x t))
(assert (too_long (lease_of (- t R))))
(echo "6 control: without that rule it is not safe")
(check-sat) ; expect sat
(pop)

; --- 7. The server paused from f1 to f2. A session request of the leader came in the pause, at s1,
; and the server answered it at f2: it named the session. The next session request q was on time, so
; it can be closer to f2 than h - J. It did not name the session. The server stays connected for
; two half ticks and T/12 after the pause. So the last session request before the operation is
; another one, and steps 1 and 2 apply to it.
(declare-const s1 Real)
(define-fun answered_late () Bool
  (and (< f1 s1) (<= s1 f2) (= n f2) (<= f2 q) (= u t) (= x t)
       (<= a n) (< q b) (<= p_sent a) (<= b p2_answered)
       (>= (- q s1) (- h J)) (<= (- q s1) (+ h J))
       (= contact n)))
(define-fun too_long_by_gap () Bool
  (too_long (lease_of (ite (< gap_moment (- u R)) gap_moment (- u R)))))

(push)
(assert answered_late)
(assert (>= x (+ f2 h h (* 2 J))))
(assert too_long_by_gap)
(echo "7 a late answer after a pause, connected for two half ticks and T/12: safe")
(check-sat) ; expect unsat
(pop)

(push)
(assert answered_late)
(assert (>= x (+ f2 h J)))
(assert too_long_by_gap)
(echo "7 control: one half tick and T/24 are not enough")
(check-sat) ; expect sat
(pop)
