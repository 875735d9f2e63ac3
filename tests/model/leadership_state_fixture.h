// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/support/lock_event_words.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {

using Events = std::vector<std::string>;

class LeadershipStateTest : public PathLockTest {
 protected:
  HoldState state(std::size_t call) { return lock_.call(call).hold.state(); }
  bool has_node(std::size_t call) {
    return lock_.world().ensemble().find(lock_.call(call).node) != nullptr;
  }
  std::shared_ptr<detail::LockListener> listener(std::size_t c) {
    const std::shared_ptr<client::Dispatcher> dispatcher(std::shared_ptr<void>(),
                                                         &lock_.world().dispatcher(c));
    return std::make_shared<detail::LockListener>(
        [this](const LockEvent& event) { events_.push_back(testing::describe(event)); },
        dispatcher);
  }
  /// Runs everything except the tasks of one client's dispatcher, until that time.
  void run_without_tasks_of(std::size_t c, Instant until) {
    for (;;) {
      bool moved = false;
      for (const Step& step : lock_.world().steps()) {
        if (step == Step{Step::Kind::task, c} || step.kind == Step::Kind::timer) continue;
        lock_.world().run(step);
        moved = true;
      }
      if (moved) continue;
      if (lock_.world().clock().next_due() > until) return;
      lock_.world().run({Step::Kind::timer});
    }
  }

  Events events_;
};

}  // namespace zklock::model
