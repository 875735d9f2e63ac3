// SPDX-License-Identifier: Apache-2.0
// close() on threads of the client itself. The tests need no server.
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "fact.h"
#include "zklock/engine/client_core.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/zklock.h"

namespace zklock {
namespace {

using testing::eventually;
using testing::Fact;

ClientOptions without_a_server() {
  ClientOptions options;
  options.hosts = "127.0.0.1:1";
  return options;
}

// The last reference to a Client can be released on any thread.
class ClosedOnOwnThread : public ::testing::Test {
 protected:
  using Release = std::function<void()>;
  // Destroys the client in a task of `run`. The thread must return from the task.
  static void destroy_within(const std::function<void(detail::ClientCore&, Release)>& run) {
    auto client = std::make_shared<Client>(without_a_server());
    const std::weak_ptr<detail::ClientCore> core = detail::ClientCore::of(*client);
    auto& used = *core.lock();
    const Fact<> returned;
    run(used, [owner = std::make_shared<std::shared_ptr<Client>>(std::move(client)), returned] {
      owner->reset();
      returned.is_known();
    });
    returned.get();
    EXPECT_TRUE(eventually([&] { return core.expired(); })) << "and nothing of it is left";
  }
};

TEST_F(ClosedOnOwnThread, OnTheTimerThread_ClosesElsewhere) {
  destroy_within([](detail::ClientCore& core, Release release) {
    core.scheduler().at(core.scheduler().now(), std::move(release));
  });
}

TEST_F(ClosedOnOwnThread, OnTheReplyThread_ClosesElsewhere) {
  destroy_within([](detail::ClientCore& core, Release release) {
    // Without a connection, the reply comes from the client itself.
    core.coordinator().submit(
        {.operation = client::request::Check{"/"}, .fail_if_disconnected = true},
        [release = std::move(release)](const client::Reply&) { release(); });
  });
}

}  // namespace
}  // namespace zklock
