// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "zklock/testing/fake/fake_world.h"
#include "zklock/testing/fake_ensemble.h"

namespace zklock::testing {

namespace {

using detail::FakeClient;
using detail::FakeWorld;
using model::KindSet;
using model::OperationKind;

KindSet set_of(std::initializer_list<OperationKind> all) {
  KindSet set;
  for (const OperationKind each : all) set |= model::kinds(each);
  return set;
}

KindSet kinds_of(RequestKind kind) {
  using Kind = OperationKind;
  switch (kind) {
    case RequestKind::any: break;
    case RequestKind::create: return set_of({Kind::create_contender, Kind::create_parents});
    case RequestKind::remove: return set_of({Kind::remove});
    case RequestKind::exists: return set_of({Kind::count_children, Kind::exists_and_watch});
    case RequestKind::get: return set_of({Kind::get, Kind::get_and_watch});
    case RequestKind::list: return set_of({Kind::list_children, Kind::list_and_watch});
    case RequestKind::multi:
      return set_of({Kind::check, Kind::announce_and_delete, Kind::transaction});
    case RequestKind::sync: return set_of({Kind::sync});
  }
  return model::kinds({});
}

core::Status status_of(Errc error) {
  switch (error) {
    case Errc::no_auth: return core::Status::no_auth;
    case Errc::quota_exceeded: return core::Status::quota_exceeded;
    case Errc::read_only: return core::Status::read_only;
    case Errc::server_error: return core::Status::server_error;
    default: break;
  }
  throw std::invalid_argument("FakeLink::fail_next: a server does not answer " +
                              std::string(to_string(error)));
}

/// Calls `act(client)` with the SimulationLock, and settles.
template <class Act>
void change(const std::shared_ptr<FakeClient>& client, Act act) {
  const std::shared_ptr<detail::Universe> universe(client, &client->servers->universe);
  FakeWorld::instance().with(universe, [&] { act(*client); });
  FakeWorld::instance().settle_if_free(client->servers->rest_limit);
}

}  // namespace

// The C client drops a connection on which it has received nothing for two thirds of T.
void FakeLink::cut() {
  change(client_, [](FakeClient& client) {
    if (std::exchange(client.cut, true)) return;
    client.update();
    if (client.coordinator.is_down()) return;  // it stays down until mend()
    client.coordinator.cut_off();
    const core::Duration longest = client.session_timeout * 2 / 3;
    client.abandon_timer = client.clock.at(client.clock.now() + longest, [&client] {
      client.abandon_timer = {};
      client.coordinator.disconnect(model::OnTheWay::linger);
    });
  });
}

void FakeLink::mend() {
  change(client_, [](FakeClient& client) {
    if (!std::exchange(client.cut, false)) return;
    client.clock.cancel(std::exchange(client.abandon_timer, {}));
    client.coordinator.mend();
    client.update();
  });
}

void FakeLink::break_connection() {
  change(client_, [](FakeClient& client) { client.coordinator.disconnect(); });
}

void FakeLink::refuse() {
  change(client_, [](FakeClient& client) {
    client.refused = true;
    client.update();
  });
}

void FakeLink::accept() {
  change(client_, [](FakeClient& client) {
    client.refused = false;
    client.update();
  });
}

void FakeLink::isolate_server() {
  change(client_, [](FakeClient& client) { client.coordinator.isolate(); });
}

void FakeLink::rejoin_server() {
  change(client_, [](FakeClient& client) { client.coordinator.heal(); });
}

void FakeLink::lose_reply(RequestKind kind) {
  change(client_, [kind](FakeClient& client) { client.coordinator.lose_reply(kinds_of(kind)); });
}

void FakeLink::lose_request(RequestKind kind) {
  change(client_, [kind](FakeClient& client) { client.coordinator.lose_request(kinds_of(kind)); });
}

void FakeLink::fail_next(RequestKind kind, Errc error) {
  const core::Status status = status_of(error);
  change(client_, [kind, status](FakeClient& client) {
    client.coordinator.fail_next(kinds_of(kind), status);
  });
}

void FakeLink::expire_session() {
  change(client_, [](FakeClient& client) { client.coordinator.expire(); });
}

void FakeLink::pause_process() {
  change(client_, [](FakeClient& client) { client.coordinator.pause(); });
}

void FakeLink::resume_process() {
  change(client_, [](FakeClient& client) { client.coordinator.resume(); });
}

std::size_t FakeLink::requests(RequestKind kind) const {
  return FakeWorld::instance().look([&] {
    const KindSet kinds = kinds_of(kind);
    std::size_t made = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds.test(k)) made += client_->coordinator.requests(static_cast<OperationKind>(k));
    }
    return made;
  });
}

}  // namespace zklock::testing
