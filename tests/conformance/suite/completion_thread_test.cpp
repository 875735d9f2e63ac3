// SPDX-License-Identifier: Apache-2.0
// The completion thread of the C client can be the thread that releases a Client last.
#include <functional>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/engine/client_core.h"

namespace zklock::testing {
namespace {

class CompletionThreadOnServers : public LockTest {
 protected:
  // Runs `task` in the handler of a reply, and blocks until it has returned.
  static void run(zklock::detail::ClientCore& core, std::function<void()> task) {
    const auto returned = std::make_shared<std::promise<void>>();
    auto done = returned->get_future();
    core.coordinator().submit({.operation = client::request::Exists{"/"}},
                              [task = std::move(task), returned](const client::Reply&) {
                                task();
                                returned->set_value();
                              });
    get(done);
  }
};

TEST_F(CompletionThreadOnServers, Close_IsDoneByAnotherThread) {
  const auto client = connect();
  const auto core = zklock::detail::ClientCore::of(*client);
  run(*core, [&] { client->close(); });
  EXPECT_TRUE(eventually([&] { return core->closed(); }, kTestTimeout));
  client->close();  // blocks until that close has ended
  EXPECT_FALSE(client->is_connected());
}

TEST_F(CompletionThreadOnServers, Destruction_LeavesNothing) {
  const auto owner = std::make_shared<std::unique_ptr<Client>>(connect());
  const std::weak_ptr<zklock::detail::ClientCore> core = zklock::detail::ClientCore::of(**owner);
  run(*core.lock(), [owner] { owner->reset(); });
  EXPECT_TRUE(eventually([&] { return core.expired(); }, kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
