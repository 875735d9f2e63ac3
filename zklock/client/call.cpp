// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/call.h"

#include "zklock/client/zk_error.h"

namespace zklock::client {

Call::Sent Call::send(const Wire& wire) {
  reply_.session = wire.session;
  reply_.sent_at = LeaseClock::now();
  const int code = issue(wire);
  if (code == ZOK) return Sent::yes;
  reply_.session = {};
  if (code == ZINVALIDSTATE) return Sent::handle_is_dead;
  if (!refused_) answer(code);
  return Sent::refused;
}

void Call::answer(int code) {
  reply_.status = to_status(code);
  reply_.detail = code == ZOK ? std::string() : code_name(code);
}

void Call::refuse(Status status, std::string detail) {
  refused_ = true;
  reply_.status = status;
  reply_.detail = std::move(detail);
}

}  // namespace zklock::client
