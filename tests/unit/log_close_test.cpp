// SPDX-License-Identifier: Apache-2.0
// The log of a client that is being closed. The tests need no server.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "fact.h"
#include "zklock/engine/client_core.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/zklock.h"

namespace zklock {
namespace {

using namespace std::chrono_literals;
using detail::ClientCore;
using testing::eventually;
using testing::Fact;

ClientOptions with_sink(LogSink sink) {
  ClientOptions options;
  options.hosts = "127.0.0.1:1";
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
      ClientCore::of(client)->log(
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
    const auto& core = ClientCore::of(client);
    for (std::size_t i = 0; i < kLossThreads; ++i) {
      core->loss_dispatcher().post([blocked, may_return] {
        ++*blocked;
        may_return.get();
        --*blocked;
      });
    }
    EXPECT_TRUE(eventually([&] { return *blocked == kLossThreads; }));
    core->warn("lock /a: one");
    EXPECT_TRUE(eventually([&] { return *lines == 1; }, 10s));
    core->warn("lock /a: two");
  }
  EXPECT_EQ(*lines, 2) << "at the close";
  may_return.is_known();
  EXPECT_TRUE(eventually([&] { return *blocked == 0; }));
}

}  // namespace
}  // namespace zklock
