// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "chaos/faults.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/zklock.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Member = std::optional<std::size_t>;

constexpr std::chrono::seconds kServerTimeout{90};
// The quiet locks. They almost always have a waiter, and a dead holder never blocks them for long.
constexpr std::array<std::size_t, 3> kQuietMutexes{3, 4, 5};
constexpr unsigned kIdleClient = 0xFE;

bool kill(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble[*member].kill();
  std::this_thread::sleep_for(length);
  ensemble[*member].start();
  return true;
}

bool kill_all(Ensemble& ensemble, milliseconds length) {
  for (std::size_t i = 0; i < ensemble.size(); ++i) ensemble[i].kill();
  std::this_thread::sleep_for(length);
  ensemble.start();
  return true;
}

// An assumption of the lease: no server is isolated within a half tick and T/24 after its pause.
bool pause(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble[*member].pause();
  std::this_thread::sleep_for(length);
  ensemble[*member].resume();
  std::this_thread::sleep_for(ensemble.settings().tick_time);
  return true;
}

bool isolate(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble.isolate(*member);
  std::this_thread::sleep_for(length);
  ensemble.rejoin();
  return true;
}

// Returns 0.7 to 0.9 of the shortest session timeout.
milliseconds almost_a_session(const Ensemble& ensemble, const PlannedFault& planned) {
  return ensemble.settings().session_timeout * (3500 + planned.length.count()) / 5000;
}

// Queries the hold until it is lost. Visits the resource meanwhile, as the clients do.
void watch_until_lost(const Hold& hold, Grant& grant, Collector& collector) {
  std::atomic<int> notified{0};
  const std::stop_callback on_loss(hold.loss_token(), [&notified] { ++notified; });
  const auto is_lost = [&] {
    const Nanos before = now();
    if (hold.state() == HoldState::lost) return true;
    grant.last = before;
    const bool accepted = collector.write_to_resource(grant.lock, grant.token);
    if (!accepted && grant.refused == 0) grant.refused = now();
    return false;
  };
  if (testing::eventually(is_lost, kServerTimeout, 2ms)) {
    grant.end = End::lost;
    (void)testing::eventually([&notified] { return notified > 0; }, kServerTimeout, 1ms);
  } else {
    collector.claim("a hold is not lost although its server was cut off: " + describe(grant));
  }
  grant.notified = notified;
}

// Starts a client that is idle for longer than its session timeout. Then it acquires a lock for
// which others contend. Its server is isolated right after the grant, before the first heartbeat.
bool isolate_after_idle(Ensemble& ensemble, const PlannedFault& planned, Collector& collector) {
  const Member member = ensemble.follower(planned.choice);
  if (!member) return false;
  Grant grant;
  grant.lock = kQuietMutexes.at(planned.choice % kQuietMutexes.size());
  ClientOptions options;
  options.hosts = ensemble[*member].hosts() + kChroot;
  options.session_timeout = ensemble.settings().session_timeout;
  Client client(options);
  Mutex mutex(client, kWorkload.at(grant.lock).path);
  // The first grant opens the session.
  if (!mutex.acquire({.deadline = 20s})) return false;
  std::this_thread::sleep_for(options.session_timeout + 100ms + planned.length);

  grant.id = grant_id(kIdleClient, 0, 0, 0);
  grant.call = now();
  const Hold hold = mutex.acquire({.deadline = 20s});
  if (!hold) return false;
  ensemble.isolate(*member);
  grant.last = now();
  const bool valid = hold.state() != HoldState::lost;
  grant.first = now();
  grant.token = hold.token();
  grant.owner = std::hash<Owner>{}(hold.owner());
  grant.session = client.session_id();
  watch_until_lost(hold, grant, collector);
  if (valid) collector.grant(grant);
  // The session expires, and another client is granted. Its token is higher.
  std::this_thread::sleep_for(options.session_timeout + 2 * ensemble.settings().tick_time);
  ensemble.rejoin();
  return !collector.write_to_resource(grant.lock, grant.token);
}

bool perform(const PlannedFault& planned, Ensemble& ensemble, Collector& collector) {
  using enum Fault;
  const milliseconds length = planned.length;
  switch (planned.fault) {
    case follower_killed: return kill(ensemble, ensemble.follower(planned.choice), 500ms + length);
    case leader_killed: return kill(ensemble, ensemble.leader(), 500ms + 2 * length);
    case all_killed: return kill_all(ensemble, 0ms);
    case all_killed_long: return kill_all(ensemble, 6s + length);
    case follower_paused:
      return pause(ensemble, ensemble.follower(planned.choice), 1s + 6 * length);
    case leader_paused: return pause(ensemble, ensemble.leader(), 1s + 7 * length);
    case leader_stopped:
      return pause(ensemble, ensemble.leader(), almost_a_session(ensemble, planned));
    case follower_isolated:
      return isolate(ensemble, ensemble.follower(planned.choice), 8s + length);
    case leader_isolated: return isolate(ensemble, ensemble.leader(), 9s + 2 * length);
    case isolated_after_idle: return isolate_after_idle(ensemble, planned, collector);
    default: throw std::logic_error("not a fault of servers: " + name_of(planned.fault));
  }
}

// Starts every server again that has ended, and waits until all serve.
bool recover(Ensemble& ensemble) {
  const auto until = std::chrono::steady_clock::now() + kServerTimeout;
  do {
    ensemble.start();
    if (ensemble.wait_until_serving(10s)) return true;
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace

bool do_to_servers(const PlannedFault& planned, Ensemble& ensemble, Collector& collector) {
  const bool done = perform(planned, ensemble, collector);
  if (!recover(ensemble))
    collector.claim("the servers do not come back after " + name_of(planned.fault));
  return done;
}

}  // namespace zklock::chaos
