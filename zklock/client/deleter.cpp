// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/deleter.h"

#include <chrono>
#include <utility>

namespace zklock::client {

namespace {

constexpr std::chrono::milliseconds retry_delay{250};

}  // namespace

struct Deleter::Ports {
  Coordinator& coordinator;
  Scheduler& scheduler;
  std::function<void(const std::string&, Status)> complain;
};

struct Deleter::Removal {
  std::shared_ptr<Ports> ports;
  SessionId session;
  std::string path;
  Manner manner;
  std::function<void()> done;
};

Deleter::Deleter(Coordinator& coordinator, Scheduler& scheduler,
                 std::function<void(const std::string&, Status)> complain)
    : ports_(std::make_shared<Ports>(Ports{coordinator, scheduler, std::move(complain)})) {}

void Deleter::remove(SessionId session, std::string path, Manner manner,
                     std::function<void()> done) {
  submit(std::make_shared<Removal>(
      Removal{ports_, session, std::move(path), manner, std::move(done)}));
}

void Deleter::submit(const std::shared_ptr<Removal>& removal) {
  Request request{.operation = request::Delete{removal->path}, .session = removal->session};
  if (removal->manner == Manner::announced) {
    request.operation = request::AnnounceAndDelete{removal->path};
  }
  removal->ports->coordinator.submit(
      std::move(request), [removal](const Reply& reply) { answered(removal, reply.status); });
}

void Deleter::answered(const std::shared_ptr<Removal>& removal, Status status) {
  switch (status) {
    case Status::ok:
    case Status::no_node:
    case Status::session_ended:
    case Status::closed:
    case Status::auth_failed:
    case Status::not_sent: removal->done(); return;
    case Status::unknown: submit(removal); return;  // held until the connection is back
    case Status::no_auth:
    case Status::invalid_acl:
      if (std::exchange(removal->manner, Manner::plainly) == Manner::announced) {
        submit(removal);
        return;
      }
      removal->ports->complain(removal->path, status);
      removal->done();
      return;
    case Status::not_connected:
    case Status::throttled:
    case Status::node_exists:
    case Status::not_empty:
    case Status::bad_version:
    case Status::quota_exceeded:
    case Status::read_only:
    case Status::too_many_nodes:
    case Status::too_many_watches:
    case Status::server_error: break;
  }
  Scheduler& scheduler = removal->ports->scheduler;
  scheduler.at(scheduler.now() + retry_delay, [removal] { submit(removal); });
}

}  // namespace zklock::client
