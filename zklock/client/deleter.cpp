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
  enum class Step { announcing, looking, deleting };
  std::shared_ptr<Ports> ports;
  SessionId session;
  std::string path;
  FencingToken token;
  Step step;
  std::function<void()> done;
};

Deleter::Deleter(Coordinator& coordinator, Scheduler& scheduler,
                 std::function<void(const std::string&, Status)> complain)
    : ports_(std::make_shared<Ports>(Ports{coordinator, scheduler, std::move(complain)})) {}

void Deleter::remove(SessionId session, std::string path, FencingToken token, Manner manner,
                     std::function<void()> done) {
  const auto step =
      manner == Manner::announced ? Removal::Step::announcing : Removal::Step::deleting;
  submit(std::make_shared<Removal>(
      Removal{ports_, session, std::move(path), token, step, std::move(done)}));
}

void Deleter::submit(const std::shared_ptr<Removal>& removal) {
  Request request{.operation = request::Delete{removal->path}, .session = removal->session};
  switch (removal->step) {
    case Removal::Step::announcing:
      request.operation = request::AnnounceAndDelete{removal->path};
      break;
    case Removal::Step::looking: request.operation = request::Get{removal->path}; break;
    case Removal::Step::deleting: break;
  }
  removal->ports->coordinator.submit(std::move(request),
                                     [removal](const Reply& reply) { answered(removal, reply); });
}

void Deleter::answered(const std::shared_ptr<Removal>& removal, const Reply& reply) {
  switch (reply.status) {
    case Status::ok:
      if (removal->step != Removal::Step::looking || reply.token != removal->token) {
        removal->done();
        return;
      }
      removal->step = Removal::Step::deleting;
      submit(removal);
      return;
    case Status::no_node:
    case Status::session_ended:
    case Status::closed:
    case Status::auth_failed:
    case Status::not_sent: removal->done(); return;
    case Status::unknown: submit(removal); return;  // held until the connection is back
    case Status::no_auth:
    case Status::invalid_acl: refused(removal, reply.status); return;
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

void Deleter::refused(const std::shared_ptr<Removal>& removal, Status status) {
  switch (removal->step) {
    case Removal::Step::announcing: removal->step = Removal::Step::looking; break;
    case Removal::Step::looking: removal->step = Removal::Step::deleting; break;
    case Removal::Step::deleting:
      removal->ports->complain(removal->path, status);
      removal->done();
      return;
  }
  submit(removal);
}

}  // namespace zklock::client
