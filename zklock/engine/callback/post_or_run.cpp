// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/post_or_run.h"

#include <cassert>
#include <utility>

#include "zklock/client/port/mutex.h"

namespace zklock::detail {

namespace {

constinit thread_local int running_here = 0;

}  // namespace

void post_or_run(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
                 std::function<void()> task) {
  assert(client::may_block_here());  // it may run the task
  if (core->forked()) return;
  // Shared, because a dispatcher that does not accept the task destroys its copy.
  const auto once = std::make_shared<std::function<void()>>(std::move(task));
  // The user's executor can run its queue in a fork()ed child too.
  const auto run = [core, once] {
    const auto mine = std::exchange(*once, nullptr);
    if (mine && !core->forked()) mine();
  };
  if (dispatcher.post(run)) return;
  ++running_here;
  try {
    run();
  } catch (...) {
    core->warn("a callback threw an exception");
  }
  --running_here;
}

bool runs_in_post_or_run() noexcept {
  return running_here > 0;
}

}  // namespace zklock::detail
