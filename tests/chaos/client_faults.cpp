// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "chaos/faults.h"
#include "support/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Waits until the client holds a lock for a while, because a fault harms a holder most. Returns
// after 8 s in any case.
void wait_for_hold(const CrewMember& client, const Collector& collector) {
  (void)testing::eventually([&] { return collector.stays_long(client.number()); }, 8s, 2ms);
}

// Returns a time after which the servers have expired the client's session if it is silent.
milliseconds outlasting(const CrewMember& client, const Ensemble& ensemble,
                        const PlannedFault& planned) {
  return client.session_timeout() + 2 * ensemble.settings().tick_time + 500ms + planned.length;
}

bool is_worst_for_holders(Fault fault) {
  return fault <= Fault::cut_off_briefly || fault == Fault::session_ended;
}

bool pause(CrewMember& client, milliseconds length) {
  client.process().pause();
  std::this_thread::sleep_for(length);
  client.process().resume();
  return true;
}

bool restart(CrewMember& client, const PlannedFault& planned) {
  std::this_thread::sleep_for(planned.length);
  client.start_again();
  return true;
}

bool have_weather(CrewMember& client, const Weather& weather, milliseconds length) {
  client.proxy().set(weather);
  std::this_thread::sleep_for(length);
  client.proxy().calm();
  return true;
}

bool refuse(CrewMember& client, milliseconds length) {
  client.proxy().refuse_all();
  std::this_thread::sleep_for(length);
  client.proxy().accept_all();
  return true;
}

bool move(CrewMember& client, milliseconds length) {
  const auto server = client.proxy().connected_to();
  if (!server) return false;
  client.proxy().refuse(*server);
  std::this_thread::sleep_for(length);
  client.proxy().accept_all();
  return true;
}

// Returns whether the trap was sprung. A rare kind of request may not come within 3 s.
bool spring(CrewMember& client, Request request, Trap::When when) {
  client.proxy().arm({request, when});
  (void)testing::eventually([&] { return client.proxy().sprung(); }, 3s);
  return client.proxy().disarm();
}

// After the lost answer, the client ends in good order, and checks that no znode of its session is
// left.
bool spring_and_leave(CrewMember& client, Request request) {
  if (!spring(client, request, Trap::When::after)) return false;
  client.process().terminate();
  client.ends_with(0);
  client.start_again();
  return true;
}

bool end_session(const CrewMember& client, const Ensemble& ensemble, Collector& collector) {
  const std::int64_t session = collector.session_of(client.number());
  if (session == 0) return false;
  Excuse excuse;
  excuse.session = session;
  excuse.from = now();
  collector.excuse(excuse);
  testing::expire_session(ensemble.hosts(), session);
  return true;
}

}  // namespace

bool do_to_client(const PlannedFault& planned, CrewMember& client, Ensemble& ensemble,
                  Collector& collector) {
  using enum Fault;
  const auto answer_lost = [&](Request request) {
    return spring(client, request, Trap::When::after);
  };
  if (!client.lives()) client.start_again();
  if (is_worst_for_holders(planned.fault)) wait_for_hold(client, collector);
  const milliseconds length = planned.length;
  switch (planned.fault) {
    case paused_briefly: return pause(client, 200ms + length);
    case paused_long: return pause(client, outlasting(client, ensemble, planned));
    case killed: client.process().kill(); return restart(client, planned);
    case exited:
      client.signal(SIGUSR1);
      client.ends_with(kLeftCode);
      return restart(client, planned);
    case client_closed:
      client.signal(SIGUSR2);
      client.ends_with(0);
      return restart(client, planned);
    case cut_off:
      return have_weather(client, {.silent = true}, outlasting(client, ensemble, planned));
    case cut_off_briefly: return have_weather(client, {.silent = true}, 200ms + length);
    case reset: client.proxy().reset_connections(); return true;
    case refused: return refuse(client, 500ms + 3 * length);
    case moved: return move(client, 500ms + length);
    case link_delayed: return have_weather(client, {.delay = 20ms + length / 4}, 2s);
    case link_stuttering: return have_weather(client, {.stutter = true}, 2s);
    case replies_held: return have_weather(client, {.replies_held = true}, 300ms + length);
    case events_delayed: return have_weather(client, {.events_delay = 50ms + length / 2}, 2s);
    case create_answer_lost: return spring_and_leave(client, Request::create);
    case multi_answer_lost: return spring_and_leave(client, Request::multi);
    case remove_answer_lost: return spring_and_leave(client, Request::remove);
    case list_answer_lost: return answer_lost(Request::list);
    case get_answer_lost: return answer_lost(Request::get);
    case create_lost: return spring(client, Request::create, Trap::When::before);
    case multi_lost: return spring(client, Request::multi, Trap::When::before);
    case session_ended: return end_session(client, ensemble, collector);
    default: throw std::logic_error("not a fault of a client: " + name_of(planned.fault));
  }
}

}  // namespace zklock::chaos
