// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/standard_streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {
namespace {

using namespace std::chrono_literals;

/// Replaces the standard error output during its life.
class ErrorOutput {
 public:
  explicit ErrorOutput(int fd) : old_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)) {
    ::dup2(fd, STDERR_FILENO);
  }
  ErrorOutput(const ErrorOutput&) = delete;
  ErrorOutput& operator=(const ErrorOutput&) = delete;
  ~ErrorOutput() { ::dup2(old_.get(), STDERR_FILENO); }

 private:
  UniqueFd old_;
};

std::string read_some(int fd) {
  std::array<char, 4096> bytes{};
  const ssize_t length = ::read(fd, bytes.data(), bytes.size());
  return std::string(bytes.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

// Each thread finds room in the pipe, and all but one find it full.
TEST(WriteLine, FullPipe_BlocksNoThread) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  ::fcntl(writer.get(), F_SETPIPE_SZ, 4096);
  std::atomic<bool> ends_now = false;
  std::atomic<int> running = 4;
  std::vector<std::jthread> threads;
  const ErrorOutput replaced(writer.get());
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!ends_now) write_line(std::string(3'000, 'x'));
      --running;
    });
  }
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(read_some(reader.get()).empty());
  }
  ends_now = true;
  for (int i = 0; i < 500 && running > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(running, 0) << "a thread is blocked";
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  while (running > 0) (void)read_some(reader.get());
}

TEST(WriteLine, Socket_GetsTheLine) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  {
    const ErrorOutput replaced(writer.get());
    write_line("text");
  }
  EXPECT_EQ(read_some(reader.get()), "text\n");
}

TEST(WriteLine, File_KeepsItsPosition) {
  std::string name = ::testing::TempDir() + "zklock-line.XXXXXX";
  const UniqueFd file(::mkstemp(name.data()));
  ASSERT_EQ(::write(file.get(), "first\n", 6), 6);
  {
    const ErrorOutput replaced(file.get());
    write_line("second");
  }
  std::ifstream stream(name);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "first\nsecond\n");
  ::unlink(name.c_str());
}

}  // namespace
}  // namespace zklock::cli
