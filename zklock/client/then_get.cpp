// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/then_get.h"

#include <memory>
#include <utility>

namespace zklock::client {

void submit_then_get(Coordinator& coordinator, Operation first, std::string path, SessionId session,
                     std::function<void(const Reply&, const Reply&)> handler) {
  const auto said = std::make_shared<Reply>();
  coordinator.submit({.operation = std::move(first), .session = session},
                     [said](const Reply& reply) { *said = reply; });
  coordinator.submit(
      {.operation = request::Get{std::move(path)}, .session = session},
      [said, handler = std::move(handler)](const Reply& reply) { handler(*said, reply); });
}

}  // namespace zklock::client
