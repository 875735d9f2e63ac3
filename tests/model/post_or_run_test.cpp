// SPDX-License-Identifier: Apache-2.0
// Tasks that a caller waits for, also after their client was closed.
#include "zklock/engine/callback/post_or_run.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

/// The dispatcher of a closed client.
class RefusingDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()>) override { return false; }
};

class PostOrRun : public PathLockTest {
 protected:
  void send(client::Dispatcher& dispatcher) {
    detail::post_or_run(core_.shared_from_this(), dispatcher, [this, owned = owned_] {
      ++runs_;
      runs_within_ = detail::runs_in_post_or_run();
    });
  }

  detail::ClientCore& core_ = lock_.core(0);
  int runs_ = 0;
  bool runs_within_ = false;
  const std::shared_ptr<int> owned_ = std::make_shared<int>();
};

TEST_F(PostOrRun, Accepted_RunsOnceOnDispatcherAndIsDestroyed) {
  send(core_.loss_dispatcher());
  EXPECT_EQ(runs_, 0) << "not by the sender";
  run();
  EXPECT_EQ(runs_, 1);
  EXPECT_FALSE(runs_within_);
  EXPECT_EQ(owned_.use_count(), 1);
}

// close() does not wait for tasks on a thread that runs one.
TEST_F(PostOrRun, Refused_RunsAtOnce) {
  RefusingDispatcher refusing;
  send(refusing);
  EXPECT_EQ(runs_, 1);
  EXPECT_TRUE(runs_within_);
  EXPECT_FALSE(detail::runs_in_post_or_run());
  EXPECT_EQ(owned_.use_count(), 1);
}

/// Stores one task, as the queue of a user's executor does.
class StoringDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    stored = std::move(task);
    return true;
  }
  std::function<void()> stored;
};

TEST_F(PostOrRun, AcceptedBeforeFork_DoesNotRunInTheChild) {
  StoringDispatcher executor;
  send(executor);
  const pid_t child = ::fork();
  if (child == 0) {
    executor.stored();
    ::_exit(runs_);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  executor.stored();
  EXPECT_EQ(runs_, 1);
}

TEST_F(PostOrRun, RefusedTaskThrows_IsCaught) {
  RefusingDispatcher refusing;
  EXPECT_NO_THROW(detail::post_or_run(core_.shared_from_this(), refusing,
                                      [] { throw std::runtime_error("by the user"); }));
  EXPECT_FALSE(detail::runs_in_post_or_run());
}

}  // namespace
}  // namespace zklock::model
