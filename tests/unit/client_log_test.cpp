// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance/log_capture.h"
#include "inline_log.h"
#include "zklock/client/port/log.h"
#include "zklock/testing/servers/wait_for.h"

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
  /// Returns what is in the pipe. A write that blocks goes on.
  std::string read() const {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t length = 0; (length = ::read(ends_[0], some.data(), some.size())) > 0;) {
      text.append(some.data(), static_cast<std::size_t>(length));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{};
  int before_ = -1;
  bool has_reader_ = true;
};

TEST_F(ClientLogTest, LoggerAndSink_EachHasItsLevel) {
  const testing::LogCapture logger;  // its level is trace
  ::testing::internal::CaptureStderr();
  const auto log = inline_log(logger.logger(), sink(), LogLevel::warning);
  log->write(LogLevel::debug, "details");
  log->write(LogLevel::warning, "lost");
  EXPECT_TRUE(logger.contains("details"));
  EXPECT_TRUE(logger.contains("lost"));
  EXPECT_EQ(lines_, std::vector<std::string>{"warning: lost"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ClientLogTest, NoLoggerAndNoSink_WarningsGoToStderr) {
  ::testing::internal::CaptureStderr();
  const auto log = inline_log(nullptr);
  EXPECT_TRUE(log->uses_stderr());
  EXPECT_FALSE(log->accepts(LogLevel::info));
  log->write(LogLevel::debug, "no");
  log->write(LogLevel::info, "no");
  log->write(LogLevel::warning, "lock /x: lost");
  log->write(LogLevel::error, "zklock: bad");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "zklock: lock /x: lost\nzklock: bad\n");
}

TEST_F(ClientLogTest, Braces_AreNotFormatted) {
  const testing::LogCapture logger;
  inline_log(logger.logger())->write(LogLevel::info, "lock /{}: {0}");
  EXPECT_TRUE(logger.contains("lock /{}: {0}"));
}

TEST_F(ClientLogTest, Line_IsPrintableAndCut) {
  const auto log = inline_log(nullptr, sink());
  log->write(LogLevel::info, "a\x1b[31m\nb");
  EXPECT_EQ(lines_.back(), "info: a?[31m?b");
  log->write(LogLevel::info, std::string(100'000, 'x'));
  EXPECT_EQ(lines_.back().size(), std::string("info: ").size() + Log::kMaxLine);
}

TEST_F(ClientLogTest, SinkThrows_LineIsDropped) {
  int calls = 0;
  const auto log = inline_log(nullptr, [&calls](LogLevel, std::string_view) {
    ++calls;
    throw std::runtime_error("full");
  });
  log->write(LogLevel::error, "one");
  log->write(LogLevel::error, "two");
  EXPECT_EQ(calls, 2) << "only the line is dropped";
}

TEST_F(ClientLogTest, ClosedLog_WritesNothing) {
  const auto log = inline_log(nullptr, sink());
  log->write(LogLevel::error, "one");
  log->close();
  EXPECT_FALSE(log->accepts(LogLevel::error));
  log->write(LogLevel::error, "two");
  log->write_throttled(LogLevel::error, "three");
  EXPECT_EQ(lines_, std::vector<std::string>{"error: one"});
}

TEST_F(ClientLogTest, StderrWithoutReader_RaisesNoSignal) {
  static volatile std::sig_atomic_t signals = 0;
  const auto before = std::signal(SIGPIPE, [](int) { signals = signals + 1; });
  {
    const PipeAsStderr pipe(false);
    inline_log(nullptr)->write(LogLevel::error, "unread");
  }
  std::signal(SIGPIPE, before);
  EXPECT_EQ(signals, 0);
}

TEST_F(ClientLogTest, StderrIsFull_DropsTheLine) {
  const PipeAsStderr pipe(true);
  pipe.fill();
  std::atomic<bool> has_returned = false;
  const std::jthread writes([&has_returned] {
    inline_log(nullptr)->write(LogLevel::error, "does not fit");
    has_returned = true;
  });
  EXPECT_TRUE(testing::eventually([&] { return has_returned.load(); })) << "it blocks";
  EXPECT_EQ(pipe.read().find_first_not_of('\0'), std::string::npos);
}

}  // namespace
}  // namespace zklock::client
