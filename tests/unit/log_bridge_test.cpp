// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/log_bridge.h"

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "inline_log.h"

namespace zklock::client {
namespace {

class LinesSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> lines() {
    const std::lock_guard guard(mutex_);
    return lines_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    lines_.push_back(std::string(level.data(), level.size()) + ": " +
                     std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}
  std::vector<std::string> lines_;
};

struct Lines {
  std::shared_ptr<LinesSink> sink = std::make_shared<LinesSink>();
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("test", sink);
  std::shared_ptr<Log> log = inline_log(logger);
};

TEST(LogBridge, LineOfTheCClient_IsSplitIntoLevelAndText) {
  Lines lines;
  lines.logger->set_level(spdlog::level::trace);
  const LogBridge bridge(lines.log, {});
  const auto write = bridge.callback();
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_ERROR@fn@12: one\n");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_WARN@fn@12: two");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_INFO@fn@12: says :ZOO_ERROR@");
  write("2024-01-31 12:00:00,000:4711(0x7f0a):ZOO_DEBUG@fn@12: four");
  write("no marker");
  write("");
  write(nullptr);
  EXPECT_EQ(lines.sink->lines(), (std::vector<std::string>{
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
  EXPECT_EQ(lines.sink->lines().back(), "warning: zookeeper client: auth *** and ****** end");
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

TEST(LogBridge, NoLogger_FailureIsKnown) {
  const LogBridge bridge(inline_log(nullptr), {});
  EXPECT_EQ(bridge.connect_failure("h:1"), "");
  bridge.callback()(":ZOO_ERROR@fn@1: Socket h:1 zk retcode=-4, errno=111(refused): no");
  EXPECT_EQ(bridge.connect_failure("h:1").find("h:1 refused the connection"), 0U);
  bridge.callback()(
      ":ZOO_INFO@fn@1: session establishment complete on server h:1, sessionId=1, "
      "negotiated timeout=6000");
  EXPECT_EQ(bridge.connect_failure("h:1"), "");
}

TEST(LogBridge, NoLoggerAndNoSink_WritesNothing) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const LogBridge bridge(inline_log(nullptr), {});
  ASSERT_NE(bridge.callback(), nullptr);
  bridge.callback()(":ZOO_ERROR@fn@1: text");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(LogBridge, EachBridge_HasItsLoggerUntilSlotsRunOut) {
  std::vector<Lines> logs(LogBridge::kMaxSlots + 1);
  std::vector<std::unique_ptr<LogBridge>> bridges;
  for (const Lines& lines : logs) {
    bridges.push_back(std::make_unique<LogBridge>(lines.log, std::vector<std::string>{}));
  }
  for (const auto& bridge : bridges) bridge->callback()(":ZOO_WARN@mine");
  for (std::size_t i = 0; i < LogBridge::kMaxSlots; ++i) {
    EXPECT_EQ(logs[i].sink->lines(), std::vector<std::string>{"warning: zookeeper client: mine"});
  }
  ASSERT_EQ(logs.back().sink->lines().size(), 1U);
  EXPECT_NE(logs.back().sink->lines()[0].find("more than 256 clients"), std::string::npos);

  // A released slot is used again, and its old logger gets no more lines.
  const auto old = bridges[7]->callback();
  bridges[7].reset();
  old(":ZOO_WARN@late");
  EXPECT_EQ(logs[7].sink->lines().size(), 1U);
  const LogBridge again(logs.back().log, {});
  again.callback()(":ZOO_WARN@now");
  EXPECT_EQ(logs.back().sink->lines().back(), "warning: zookeeper client: now");
}

TEST(LogBridge, DestroyedWhileThreadsWrite_IsSafe) {
  Lines lines;
  auto bridge = std::make_unique<LogBridge>(lines.log, std::vector<std::string>{"x"});
  const auto write = bridge->callback();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([write] {
      for (int k = 0; k < 1000; ++k) write(":ZOO_WARN@text");
    });
  }
  bridge.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(lines.sink->lines().size(), 4000U);
}

}  // namespace
}  // namespace zklock::client
