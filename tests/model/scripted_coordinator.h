// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "zklock/client/port/coordinator.h"

namespace zklock::model {

/// A coordinator without a session and without watches. A test derives from it, and answers the
/// requests in submit().
class ScriptedCoordinator : public client::Coordinator {
 public:
  void start(client::SessionObserver& /*observer*/) override {}
  bool cancel_unsent(client::RequestId /*request*/) noexcept override { return false; }
  void unwatch(client::RequestId /*request*/) noexcept override {}
  void close() override {}
  std::string connection_problem() const override { return {}; }
};

}  // namespace zklock::model
