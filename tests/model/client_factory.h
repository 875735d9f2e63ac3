// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "zklock/client.h"

namespace zklock::detail {

/// Creates a client whose core has simulated ports.
struct ClientFactory {
  static std::unique_ptr<Client> make(std::shared_ptr<ClientCore> core) {
    return std::unique_ptr<Client>(new Client(std::move(core)));
  }
};

}  // namespace zklock::detail
