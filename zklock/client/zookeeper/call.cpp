// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/call.h"

#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {

Call::Sent Call::send(const Wire& wire) {
  reply().session = wire.session;
  reply().sent_at = LeaseClock::now();
  const int code = issue(wire);
  if (code == ZOK) return Sent::yes;
  reply().session = {};
  if (code == ZINVALIDSTATE) return Sent::handle_is_dead;
  if (!refused_) answer(code);
  return Sent::refused;
}

void Call::answer(int code) {
  reply().status = to_status(code);
  reply().detail = code == ZOK ? std::string() : code_name(code);
}

void Call::refuse(Status status, std::string detail) {
  refused_ = true;
  reply().status = status;
  reply().detail = std::move(detail);
}

}  // namespace zklock::client
