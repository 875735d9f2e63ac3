// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>

#include "chaos/faults.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/request_kind.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::FaultProxy;
using testing::RequestKind;

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

// Calls `set` with true, and after `length` with false.
bool for_a_while(milliseconds length, const std::function<void(bool)>& set) {
  set(true);
  std::this_thread::sleep_for(length);
  set(false);
  return true;
}

bool cut(CrewMember& client, milliseconds length) {
  client.proxy().cut();
  std::this_thread::sleep_for(length);
  client.proxy().mend();
  return true;
}

bool refuse(CrewMember& client, milliseconds length) {
  client.proxy().refuse();
  std::this_thread::sleep_for(length);
  client.proxy().accept();
  return true;
}

bool move(CrewMember& client, milliseconds length) {
  const auto server = client.proxy().connected_to();
  if (!server) return false;
  client.proxy().refuse(*server);
  std::this_thread::sleep_for(length);
  client.proxy().accept();
  return true;
}

// Returns whether the loss happened. A rare kind of request may not come within 3 s.
bool loss_happens(FaultProxy& proxy) {
  (void)testing::eventually([&] { return proxy.loss_happened(); }, 3s);
  return !proxy.cancel_loss();
}

bool lose_request(CrewMember& client, RequestKind kind) {
  client.proxy().lose_request(kind);
  return loss_happens(client.proxy());
}

bool lose_reply(CrewMember& client, RequestKind kind) {
  client.proxy().lose_reply(kind);
  return loss_happens(client.proxy());
}

// After the lost reply, the client ends in good order, and checks that no znode of its session is
// left.
bool lose_reply_and_leave(CrewMember& client, RequestKind kind) {
  if (!lose_reply(client, kind)) return false;
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
  if (!client.lives()) client.start_again();
  if (is_worst_for_holders(planned.fault)) wait_for_hold(client, collector);
  const milliseconds length = planned.length;
  FaultProxy& proxy = client.proxy();
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
    case cut_off: return cut(client, outlasting(client, ensemble, planned));
    case cut_off_briefly: return cut(client, 200ms + length);
    case reset: proxy.break_connections(); return true;
    case refused: return refuse(client, 500ms + 3 * length);
    case moved: return move(client, 500ms + length);
    case link_delayed:
      return for_a_while(2s, [&](bool on) { proxy.delay(on ? 20ms + length / 4 : 0ms); });
    case link_stuttering: return for_a_while(2s, [&](bool on) { proxy.stutter(on); });
    case replies_held: return for_a_while(300ms + length, [&](bool on) { proxy.hold_replies(on); });
    case events_delayed:
      return for_a_while(2s, [&](bool on) { proxy.delay_events(on ? 50ms + length / 2 : 0ms); });
    case create_answer_lost: return lose_reply_and_leave(client, RequestKind::create);
    case multi_answer_lost: return lose_reply_and_leave(client, RequestKind::multi);
    case remove_answer_lost: return lose_reply_and_leave(client, RequestKind::remove);
    case list_answer_lost: return lose_reply(client, RequestKind::list);
    case get_answer_lost: return lose_reply(client, RequestKind::get);
    case create_lost: return lose_request(client, RequestKind::create);
    case multi_lost: return lose_request(client, RequestKind::multi);
    case session_ended: return end_session(client, ensemble, collector);
    default: throw std::logic_error("not a fault of a client: " + name_of(planned.fault));
  }
}

}  // namespace zklock::chaos
