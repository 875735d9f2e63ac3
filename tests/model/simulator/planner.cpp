// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/planner.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace zklock::simulator {

namespace {

/// Makes one plan.
///
/// Thread-safety: none.
class Planner {
 public:
  explicit Planner(std::uint64_t seed) : rng_(seed) { plan_.seed = seed; }

  Plan make() {
    make_setup();
    make_objects();
    const bool crowded = rng_.one_in(3);
    for (int i = rng_.from_to(6, crowded ? 60 : 24); i > 0; --i) plan_.steps.push_back(use());
    if (!rng_.one_in(32)) {  // the other plans have no faults
      for (int i = rng_.from_to(4, crowded ? 50 : 24); i > 0; --i) plan_.steps.push_back(fault());
      if (rng_.one_in(5)) besiege();
      if (rng_.one_in(8)) stall_leader();
      if (rng_.one_in(4)) lose_downgrade();
    }
    std::ranges::stable_sort(plan_.steps, {}, &PlanStep::at);
    return std::move(plan_);
  }

 private:
  void make_setup() {
    Setup& setup = plan_.setup;
    setup.slots = rng_.from_to(2, 4);
    setup.session_ms = rng_.one_of({4'000, 6'000, 10'000, 20'000, 30'000});
    setup.relay_ms = rng_.one_of({0, setup.session_ms / 8, setup.session_ms / 4});
    setup.latency_us = rng_.one_of({100, 500, 2'000, 10'000});
    setup.announces = rng_.one_in(4) ? 0 : 1;
    setup.creates_at_once = rng_.one_of({1, 2, 100});
    setup.exists_needs_read = plan_.seed / 4 % 2 == 0 ? 1 : 0;
    setup.hides_contenders = plan_.seed / 8 % 8 == 3 ? 1 : 0;
    for (std::size_t slot = 0; slot < kMostSlots; ++slot) {
      setup.marks[slot] = (plan_.seed / 4 + slot) % 3 == 0 ? 0 : 1;
    }
    const bool drifts = rng_.one_in(3);
    for (int& drift : setup.drift) {
      if (drifts) drift = rng_.one_of({-20'000, -10'000, 0, 10'000, 20'000});
    }
    if (setup.relay_ms != 0 && rng_.one_in(2)) setup.jitter_ms = setup.session_ms / 24;
    span_ = std::int64_t{setup.session_ms} * 1000 * rng_.from_to(2, 5);
  }

  void add(ObjectPlan object) {
    if (object.kind != LockClass::latch && object.kind != LockClass::election) {
      object.listens = rng_.one_in(4) ? 1 : 0;
      object.fails_on_loss = rng_.one_in(6) ? 1 : 0;
      if (rng_.one_in(6)) object.max_hold = plan_.setup.session_ms / rng_.from_to(1, 8);
    }
    const bool permits = object.kind == LockClass::semaphore || object.kind == LockClass::counted;
    if (!permits && rng_.one_in(6)) object.lock_delay = rng_.from_to(50, 2'000);
    plan_.setup.objects.push_back(object);
  }
  void add_mutex(int path) {
    ObjectPlan object{.kind = rng_.one_of({LockClass::reentrant, LockClass::mutex}), .path = path};
    if (rng_.one_in(3)) object.batch = rng_.from_to(2, 5);
    if (rng_.one_in(3)) object.keep_idle_for = rng_.from_to(10, plan_.setup.session_ms);
    add(object);
  }

  void add_leader() {
    add({.kind = rng_.one_of({LockClass::latch, LockClass::election}),
         .proclaims = rng_.one_in(3) ? 0 : rng_.from_to(1, 6)});
  }

  void make_objects() {
    Setup& setup = plan_.setup;
    switch (rng_.below(10)) {
      case 0:
      case 1:
        setup.paths = rng_.from_to(1, 2);
        for (int i = rng_.from_to(1, 3); i > 0; --i) {
          add_mutex(rng_.from_to(0, setup.paths - 1));
        }
        break;
      case 2:
      case 3:
        add({.kind = LockClass::shared});
        if (rng_.one_in(2)) add_mutex(0);
        if (rng_.one_in(2)) add({.kind = LockClass::shared});
        break;
      case 4:
        add({.kind = LockClass::semaphore, .number = rng_.from_to(1, 4)});
        if (rng_.one_in(3)) add_mutex(0);
        break;
      case 5: add({.kind = LockClass::counted, .number = rng_.from_to(0, 4)}); break;
      case 6:
        setup.paths = 2;
        // Half of them consist of mutexes.
        add({.kind = LockClass::multi,
             .number = rng_.one_in(2) ? 1 : rng_.from_to(1, kPartKinds * kPartKinds)});
        add_mutex(rng_.from_to(0, 1));
        break;
      case 7:
        setup.ensembles = 3;
        setup.slots = std::min(setup.slots, 3);
        add({.kind = LockClass::quorum});
        break;
      case 8:
        add({.kind = LockClass::priority, .number = rng_.from_to(1, 10)});
        if (rng_.one_in(2)) add_mutex(0);
        break;
      default:
        add_leader();
        add_leader();
        if (rng_.one_in(2)) add_mutex(0);
        if (rng_.one_in(2)) setup.objects.push_back({.kind = LockClass::election_observer});
        break;
    }
    if (setup.ensembles == 1 && rng_.one_in(5)) {
      setup.objects.push_back({.kind = LockClass::observer});
    }
    // Observers could not read the holders.
    if (setup.hides_contenders != 0) {
      std::erase_if(setup.objects, [](const ObjectPlan& object) {
        return object.kind == LockClass::observer || object.kind == LockClass::election_observer;
      });
    }
  }

  std::int64_t part_of_session(int hundredths_least, int hundredths_most) {
    return std::int64_t{plan_.setup.session_ms} * 10 *
           rng_.from_to(hundredths_least, hundredths_most);
  }
  std::int64_t some_hold() {
    switch (rng_.below(4)) {
      case 0: return static_cast<std::int64_t>(rng_.below(2'000));
      case 1: return static_cast<std::int64_t>(rng_.below(200'000));
      case 2: return part_of_session(1, 30);
      default: return rng_.one_in(4) ? part_of_session(30, 200) : part_of_session(1, 60);
    }
  }

  PlanStep at_some_time() {
    PlanStep step;
    // Half of the steps are in bursts, so that they interact.
    step.at = rng_.one_in(2)
                  ? static_cast<std::int64_t>(rng_.below(4)) * span_ / 4 +
                        static_cast<std::int64_t>(rng_.below(20'000))
                  : static_cast<std::int64_t>(rng_.below(static_cast<std::size_t>(span_)));
    step.slot = rng_.from_to(0, plan_.setup.slots - 1);
    step.salt = static_cast<int>(rng_.below(1'000));
    return step;
  }

  PlanStep use() {
    PlanStep step = at_some_time();
    step.object = static_cast<int>(rng_.below(plan_.setup.objects.size()));
    const ObjectPlan& object = plan_.setup.objects[static_cast<std::size_t>(step.object)];
    if (object.kind == LockClass::latch || object.kind == LockClass::election) {
      step.act = rng_.one_in(3) ? Act::resign : Act::lead;
      step.hold = some_hold();
      return step;
    }
    if (plan_.setup.ensembles == 1 && rng_.one_in(16)) {
      step.act = rng_.one_of({Act::request_release, Act::force_release});
      return step;
    }
    const int most = std::max(object.number, 1);
    step.number = rng_.from_to(1, most);
    if (object.kind == LockClass::counted && rng_.one_in(4)) {
      step.act = Act::set_permits;
      step.number = rng_.from_to(0, 5);
      return step;
    }
    if (object.kind == LockClass::priority) step.number = rng_.from_to(1, 10);
    if (rng_.one_in(3)) step.owner = rng_.from_to(1, 2);
    if (object.kind == LockClass::shared) step.reads = rng_.one_in(2) ? 1 : 0;
    if (rng_.one_in(6)) step.wait = 0;
    if (step.wait < 0 && rng_.one_in(4)) step.wait = 1 + some_hold();
    if (rng_.one_in(6)) step.stop = some_hold();
    step.hold = some_hold();
    step.ending = rng_.one_of({Ending::release, Ending::release, Ending::throws, Ending::until_lost,
                               Ending::nested, Ending::commits, Ending::renews});
    const bool by_threads = object.kind == LockClass::reentrant && object.batch == 1;
    if (by_threads && object.keep_idle_for == 0 && rng_.one_in(4)) step.ending = Ending::locks;
    return step;
  }

  PlanStep fault() {
    PlanStep step = at_some_time();
    step.act = Act::fault;
    for (;;) {
      step.fault = static_cast<Fault>(rng_.below(kFaultClasses));
      const bool rare =
          step.fault == Fault::sequence_at_end || step.fault == Fault::sequence_near_end ||
          step.fault == Fault::sequence_negative || step.fault == Fault::parent_deleted ||
          step.fault == Fault::session_expired || step.fault == Fault::old_node_visible ||
          step.fault == Fault::node_deleted || step.fault == Fault::forked;
      if (step.fault != Fault::clock_drift && (!rare || rng_.one_in(4))) break;
    }
    step.length = length_of(step.fault);
    // A third of the faults begin during another fault of their process.
    if (rng_.one_in(3) && last_fault_) {
      step.slot = last_fault_->slot;
      step.at =
          last_fault_->at +
          static_cast<std::int64_t>(rng_.below(static_cast<std::size_t>(last_fault_->length) + 1));
    }
    last_fault_ = step;
    return step;
  }

  /// A process holds for long, and another waits. The holder's messages become late, and then stop.
  void besiege() {
    PlanStep holds = use();
    const std::int64_t session = std::int64_t{plan_.setup.session_ms} * 1000;
    if (holds.act != Act::acquire) return;
    holds.stop = -1;
    holds.wait = -1;
    holds.hold = 3 * session;
    holds.ending = rng_.one_of({Ending::release, Ending::until_lost});
    PlanStep waits = holds;
    waits.slot = (holds.slot + 1) % plan_.setup.slots;
    waits.at += session / 8;
    waits.hold = session / 8;
    PlanStep late = fault();
    late.slot = holds.slot;
    late.at = holds.at + part_of_session(20, 90);
    late.fault = Fault::slow_server;
    late.length = session;
    late.salt = 24 * rng_.from_to(1, 30) + rng_.one_of({4, 7, 10, 13, 16, 19});
    PlanStep silent = late;
    silent.at += part_of_session(5, 95);
    silent.fault = rng_.one_of(
        {Fault::cut_off_long, Fault::follower_isolated, Fault::leader_isolated, Fault::pause_long});
    silent.length = 2 * session;
    for (const PlanStep& step : {holds, waits, late, silent}) plan_.steps.push_back(step);
  }

  /// A process waits while the leader is paused. It gets the lock soon after, and is then cut off.
  void stall_leader() {
    PlanStep holds = use();
    if (holds.act != Act::acquire) return;
    holds.stop = -1;
    holds.wait = -1;
    holds.hold = part_of_session(100, 250);
    holds.ending = Ending::release;
    PlanStep waits = holds;
    waits.slot = (holds.slot + 1) % plan_.setup.slots;
    waits.at += part_of_session(5, 30);
    waits.hold = part_of_session(200, 300);
    waits.ending = Ending::until_lost;
    PlanStep pause = fault();
    pause.fault = Fault::leader_pauses;
    pause.length = part_of_session(50, 110);
    pause.at = std::max(holds.at, holds.at + holds.hold - pause.length + part_of_session(-5, 5));
    PlanStep cut = pause;
    cut.slot = waits.slot;
    cut.fault = Fault::follower_isolated;
    cut.length = part_of_session(200, 300);
    cut.at = std::max(pause.at + pause.length, holds.at + holds.hold) + part_of_session(0, 20);
    PlanStep next = holds;
    next.slot = (holds.slot + 2) % plan_.setup.slots;
    next.at = cut.at;
    next.hold = part_of_session(5, 30);
    for (const PlanStep& step : {holds, waits, pause, cut, next}) plan_.steps.push_back(step);
  }

  /// A writer is downgraded, and the reply is lost. Before the client reconnects, the path is
  /// deleted, and another process gets its znode's name.
  void lose_downgrade() {
    if (plan_.setup.objects[0].kind != LockClass::shared) return;
    PlanStep path_ends = at_some_time();  // the sequence numbers restart
    path_ends.act = Act::fault;
    path_ends.fault = Fault::parent_deleted;
    path_ends.salt = 0;
    const PlanStep writes{.at = path_ends.at + part_of_session(1, 10),
                          .slot = path_ends.slot,
                          .owner = 1,
                          .hold = part_of_session(5, 50)};
    PlanStep reads = writes;
    reads.reads = 1;
    reads.at += writes.hold / 2;
    reads.hold = part_of_session(30, 60);
    PlanStep loss = path_ends;
    loss.at = writes.at + writes.hold - 1'000;
    loss.fault = rng_.one_of({Fault::lost_reply_multi, Fault::lost_request_multi});
    loss.length = part_of_session(10, 20);
    PlanStep ends_again = path_ends;
    ends_again.at = writes.at + writes.hold + rng_.from_to(10'000, 100'000);
    if (rng_.one_in(3)) {  // it begins right after a reconnect
      loss.fault = Fault::refused;
      loss.at = writes.at + writes.hold * 3 / 4;
      loss.length = writes.hold / 4 + rng_.from_to(-200, 200);
      ends_again.at = writes.at + writes.hold * 7 / 8;
    }
    PlanStep next = writes;
    next.slot = (writes.slot + 1) % plan_.setup.slots;
    next.at = ends_again.at + 1'000;
    for (const PlanStep& step : {path_ends, writes, reads, loss, ends_again, next}) {
      plan_.steps.push_back(step);
    }
  }

  std::int64_t length_of(Fault fault) {
    switch (fault) {
      case Fault::pause_short:
      case Fault::cut_off_short: return part_of_session(1, 60);
      case Fault::pause_long:
      case Fault::cut_off_long:
      case Fault::follower_isolated:
      case Fault::leader_isolated: return part_of_session(70, 200);
      case Fault::leader_pauses: return part_of_session(2, 150);
      case Fault::leader_crash: return part_of_session(1, 30);
      case Fault::all_servers_down: return part_of_session(100, 250);
      case Fault::watch_late: return part_of_session(1, 5);
      case Fault::handlers_blocked: return part_of_session(2, 200);
      case Fault::dns_fails_first:
      case Fault::dns_fails_later: return part_of_session(50, 350);
      default: return part_of_session(2, 80);
    }
  }

  Rng rng_;
  Plan plan_;
  std::int64_t span_ = 0;  ///< the duration of all steps
  std::optional<PlanStep> last_fault_;
};

}  // namespace

Plan make_plan(std::uint64_t seed) {
  return Planner(seed).make();
}

}  // namespace zklock::simulator
