// SPDX-License-Identifier: Apache-2.0
// close() on threads of the client itself, and its log. The tests need no server.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
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

// ---- the log of a client that is closed ---------------------------------------------------------

ClientOptions with_sink(LogSink sink) {
  ClientOptions options = without_a_server();
  options.log_sink = std::move(sink);
  options.log_level = LogLevel::debug;
  return options;
}

// The destructor waits for the sink, but not for ever.
TEST(LogClose, SinkBlocks_IsNotCalledAfterwards) {
  constexpr int kLines = 500;
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Fact<> may_return;
  {
    const Client client(with_sink([calls, may_return](LogLevel, std::string_view line) {
      if (line != "event") return;
      ++*calls;
      may_return.get();
    }));
    for (int i = 0; i < kLines; ++i) {
      detail::ClientCore::of(client)->log(
          {.level = LogLevel::debug, .kind = detail::LogKind::event, .text = "event"});
    }
  }
  EXPECT_EQ(*calls, 1);
  may_return.is_known();
  EXPECT_TRUE(eventually([&] { return calls.use_count() == 1; })) << "the sink is destroyed";
  EXPECT_EQ(*calls, 1) << "only the call that had begun before";
}

// The threads for loss callbacks are 32.
TEST(LogClose, LossCallbacksBlock_LinesAreWritten) {
  constexpr std::size_t kLossThreads = 32;
  const auto lines = std::make_shared<std::atomic<int>>(0);
  const Fact<> may_return;
  const auto blocked = std::make_shared<std::atomic<std::size_t>>(0);
  {
    const Client client(with_sink([lines](LogLevel, std::string_view line) {
      if (line.starts_with("lock /")) ++*lines;
    }));
    const auto& core = detail::ClientCore::of(client);
    for (std::size_t i = 0; i < kLossThreads; ++i) {
      core->loss_dispatcher().post([blocked, may_return] {
        ++*blocked;
        may_return.get();
        --*blocked;
      });
    }
    EXPECT_TRUE(eventually([&] { return *blocked == kLossThreads; }));
    core->warn("lock /a: one");
    EXPECT_TRUE(eventually([&] { return *lines == 1; }, std::chrono::seconds(10)));
    core->warn("lock /a: two");
  }
  EXPECT_EQ(*lines, 2) << "at the close";
  may_return.is_known();
  EXPECT_TRUE(eventually([&] { return *blocked == 0; }));
}

}  // namespace
}  // namespace zklock
