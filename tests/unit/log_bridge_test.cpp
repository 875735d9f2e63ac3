// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/log_bridge.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "inline_log.h"

namespace zklock::client {
namespace {

struct Lines {
  std::shared_ptr<std::vector<std::string>> all = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<Log> log = inline_log(
      nullptr,
      [all = all](LogLevel level, std::string_view line) {
        all->push_back(std::string(to_string(level)) + ": " + std::string(line));
      },
      LogLevel::debug);
};

TEST(LogBridge, LineOfTheCClient_IsSplitIntoLevelAndText) {
  Lines lines;
  const LogBridge bridge(lines.log, {});
  const auto write = bridge.callback();
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_ERROR@fn@12: one\n");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_WARN@fn@12: two");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_INFO@fn@12: says :ZOO_ERROR@");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_DEBUG@fn@12: four");
  write("no marker");
  write("");
  write(nullptr);
  EXPECT_EQ(*lines.all, (std::vector<std::string>{
                            "error: zookeeper client: fn@12: one",
                            "warning: zookeeper client: fn@12: two",
                            "info: zookeeper client: fn@12: says :ZOO_ERROR@",
                            "debug: zookeeper client: fn@12: four",
                            "info: zookeeper client: no marker",
                            "info: zookeeper client: ",
                        }));
}

TEST(LogBridge, Secrets_AreHidden) {
  Lines lines;
  const LogBridge bridge(lines.log, {"sesame", "me:sesame", ""});
  bridge.callback()(":ZOO_WARN@auth me:sesame and sesamesesame end");
  EXPECT_EQ(lines.all->back(), "warning: zookeeper client: auth *** and ****** end");
}

TEST(LogBridge, EachFailedAttempt_IsReported) {
  int failures = 0;
  const LogBridge bridge(inline_log(nullptr), {}, [&] { ++failures; });
  const auto write = bridge.callback();
  const std::string socket = "1:ZOO_ERROR@fn@12: Socket 10.0.0.1:2181 zk retcode=";
  write((socket + "-4, errno=111(Connection refused): failed").c_str());
  write((socket + "-7, errno=110(Connection timed out): timed out").c_str());
  write((socket + "-15, errno=0(Success): error in ssl connect").c_str());
  EXPECT_EQ(failures, 3);
  write("1:ZOO_ERROR@fn@12: Failed to load CA file /ca.pem");
  write((socket + "-112, errno=116(Stale file handle): sessionId has expired").c_str());
  write("1:ZOO_INFO@fn@12: initiated connection to server 10.0.0.1:2181");
  EXPECT_EQ(failures, 3);
}

TEST(LogBridge, EachBridge_HasItsLoggerUntilSlotsRunOut) {
  std::vector<Lines> logs(LogBridge::kMaxSlots + 1);
  std::vector<std::unique_ptr<LogBridge>> bridges;
  for (const Lines& lines : logs) {
    bridges.push_back(std::make_unique<LogBridge>(lines.log, std::vector<std::string>{}));
  }
  for (const auto& bridge : bridges) bridge->callback()(":ZOO_WARN@mine");
  for (std::size_t i = 0; i < LogBridge::kMaxSlots; ++i) {
    EXPECT_EQ(*logs[i].all, std::vector<std::string>{"warning: zookeeper client: mine"});
  }
  ASSERT_EQ(logs.back().all->size(), 1U);
  EXPECT_NE(logs.back().all->front().find("more than 256 clients"), std::string::npos);

  // A released slot is used again, and its old logger gets no more lines.
  const auto old = bridges[7]->callback();
  bridges[7].reset();
  old(":ZOO_WARN@late");
  EXPECT_EQ(logs[7].all->size(), 1U);
  const LogBridge again(logs.back().log, {});
  again.callback()(":ZOO_WARN@now");
  EXPECT_EQ(logs.back().all->back(), "warning: zookeeper client: now");
}

TEST(LogBridge, DestroyedWhileThreadsWrite_IsSafe) {
  std::atomic<int> lines = 0;
  const auto count = [&lines](LogLevel, std::string_view) { ++lines; };
  auto bridge =
      std::make_unique<LogBridge>(inline_log(nullptr, count), std::vector<std::string>{"x"});
  const auto write = bridge->callback();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([write] {
      for (int k = 0; k < 1000; ++k) write(":ZOO_WARN@text");
    });
  }
  bridge.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(lines, 4000);
}

}  // namespace
}  // namespace zklock::client
