// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance/log_capture.h"
#include "zklock/client/port/log.h"

namespace zklock::client {
namespace {

/// Keeps the lines of a sink.
class ClientLogTest : public ::testing::Test {
 protected:
  LogSink sink() {
    return [this](LogLevel level, std::string_view line) {
      lines_.push_back(std::string(to_string(level)) + ": " + std::string(line));
    };
  }

  std::vector<std::string> lines_;
};

/// Replaces the standard error output by a pipe, with or without a reader.
class PipeAsStderr {
 public:
  explicit PipeAsStderr(bool has_reader) {
    EXPECT_EQ(::pipe2(ends_.data(), O_NONBLOCK), 0);
    before_ = ::dup(STDERR_FILENO);
    ::dup2(ends_[1], STDERR_FILENO);
    if (!has_reader) ::close(ends_[0]);
    has_reader_ = has_reader;
  }
  ~PipeAsStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(ends_[1]);
    if (has_reader_) ::close(ends_[0]);
  }
  PipeAsStderr(const PipeAsStderr&) = delete;
  PipeAsStderr& operator=(const PipeAsStderr&) = delete;

  /// Fills the pipe. From then on, a write blocks.
  void fill() const {
    const std::array<char, 4096> some{};
    while (::write(ends_[1], some.data(), some.size()) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
  }

 private:
  std::array<int, 2> ends_{};
  int before_ = -1;
  bool has_reader_ = true;
};

TEST_F(ClientLogTest, NoLoggerAndNoSink_WarningsGoToStderr) {
  ::testing::internal::CaptureStderr();
  const Log log(nullptr);
  EXPECT_TRUE(log.uses_stderr());
  EXPECT_FALSE(log.accepts(LogLevel::info));
  log.write(LogLevel::debug, "no");
  log.write(LogLevel::info, "no");
  log.write(LogLevel::warning, "lock /x: lost");
  log.write(LogLevel::error, "zklock: bad");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "zklock: lock /x: lost\nzklock: bad\n");
}

TEST_F(ClientLogTest, Sink_ReceivesLinesFromItsLevelOn) {
  const Log log(nullptr, sink());
  EXPECT_FALSE(log.accepts(LogLevel::debug));
  EXPECT_TRUE(log.accepts(LogLevel::info));
  log.write(LogLevel::debug, "no");
  log.write(LogLevel::info, "one");
  log.write(LogLevel::error, "two");
  EXPECT_EQ(lines_, (std::vector<std::string>{"info: one", "error: two"}));
}

TEST_F(ClientLogTest, SinkOfErrors_HasAnOpenLogOnlyForErrors) {
  const Log log(nullptr, sink(), LogLevel::error);
  EXPECT_FALSE(log.accepts(LogLevel::warning));
  log.write(LogLevel::warning, "no");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ClientLogTest, LoggerAndSink_EachHasItsLevel) {
  const testing::LogCapture logger;  // its level is trace
  ::testing::internal::CaptureStderr();
  const Log log(logger.logger(), sink(), LogLevel::warning);
  log.write(LogLevel::debug, "details");
  log.write(LogLevel::warning, "lost");
  EXPECT_TRUE(logger.contains("details"));
  EXPECT_TRUE(logger.contains("lost"));
  EXPECT_EQ(lines_, std::vector<std::string>{"warning: lost"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ClientLogTest, Braces_AreNotFormatted) {
  const testing::LogCapture logger;
  Log(logger.logger()).write(LogLevel::info, "lock /{}: {0}");
  EXPECT_TRUE(logger.contains("lock /{}: {0}"));
}

TEST_F(ClientLogTest, Line_IsPrintableAndCut) {
  const Log log(nullptr, sink());
  log.write(LogLevel::info, "a\x1b[31m\nb");
  EXPECT_EQ(lines_.back(), "info: a?[31m?b");
  log.write(LogLevel::info, std::string(100'000, 'x'));
  EXPECT_EQ(lines_.back().size(), std::string("info: ").size() + Log::kMaxLine);
}

TEST_F(ClientLogTest, ThrowingSink_IsDropped) {
  const Log log(nullptr, [](LogLevel, std::string_view) { throw std::runtime_error("full"); });
  log.write(LogLevel::error, "one");
  log.write(LogLevel::error, "two");
}

TEST_F(ClientLogTest, ClosedLog_WritesNothing) {
  Log log(nullptr, sink());
  log.write(LogLevel::error, "one");
  log.close();
  EXPECT_FALSE(log.accepts(LogLevel::error));
  log.write(LogLevel::error, "two");
  log.write_throttled(LogLevel::error, "three");
  EXPECT_EQ(lines_, std::vector<std::string>{"error: one"});
}

TEST_F(ClientLogTest, ThrottledLines_AreTenAtOnce) {
  Log log(nullptr, sink());
  for (int i = 0; i < 1000; ++i) log.write_throttled(LogLevel::warning, std::to_string(i));
  EXPECT_GE(lines_.size(), 10U);
  EXPECT_LE(lines_.size(), 15U) << "more only if the test took seconds";
  EXPECT_EQ(lines_[9], "warning: 9");
}

TEST_F(ClientLogTest, StderrWithoutReader_RaisesNoSignal) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  {
    const PipeAsStderr pipe(false);
    Log(nullptr).write(LogLevel::error, "unread");
  }
  std::signal(SIGPIPE, before);
}

TEST_F(ClientLogTest, StderrIsFull_DropsTheLine) {
  const PipeAsStderr pipe(true);
  pipe.fill();
  Log(nullptr).write(LogLevel::error, "does not fit");  // it would block for ever
}

}  // namespace
}  // namespace zklock::client
