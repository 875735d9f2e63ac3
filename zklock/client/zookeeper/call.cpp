// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/call.h"

#include <utility>

#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {

Reply Call::blank_reply() const {
  Reply reply;
  reply.session = session_;
  reply.sent_at = sent_at_;
  return reply;
}

Call::Sent Call::send(const Wire& wire) {
  sent_at_ = LeaseClock::now();
  // If issue() throws after it has sent a part, no reply follows: the call has no handler.
  ReplyHandler handler = std::exchange(origin_.handler, nullptr);
  const int code = issue(wire);
  origin_.handler = std::move(handler);
  if (code == ZOK) {
    session_ = wire.session;
    return Sent::yes;
  }
  if (code == ZINVALIDSTATE) return Sent::handle_is_dead;
  if (code != kRefused) answer(wire, code);
  return Sent::refused;
}

void Call::answer(const Wire& wire, int code) {
  wire.reply.status = to_status(code);
  wire.reply.detail = code == ZOK ? std::string() : code_name(code);
}

int Call::refuse(const Wire& wire, Status status, std::string detail) {
  wire.reply.status = status;
  wire.reply.detail = std::move(detail);
  return kRefused;
}

}  // namespace zklock::client
