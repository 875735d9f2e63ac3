// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/standard_streams.h"

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/cli/io/unique_fd.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::cli {
namespace {

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

TEST(FillStandardStreams, ClosedOutput_AcceptsNothing) {
  EXPECT_EXIT(
      {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) ::close(fd);
        fill_standard_streams();
        const bool fails = ::write(STDOUT_FILENO, "x", 1) < 0;
        ::_exit(fails && ::write(STDERR_FILENO, "x", 1) == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// poll() finds room for some bytes, but a blocking write waits until all are written.
TEST(WriteLine, FullTerminal_DoesNotBlock) {
  const UniqueFd reader(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(reader.get()), 0);
  ASSERT_EQ(::unlockpt(reader.get()), 0);
  const UniqueFd writer(::open(::ptsname(reader.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_GE(writer.get(), 0);
  const ErrorOutput replaced(writer.get());
  std::atomic<bool> has_ended = false;
  const std::jthread thread([&has_ended] {
    for (int i = 0; i < 200; ++i) write_line(std::string(3'000, 'x'));
    has_ended = true;
  });
  EXPECT_TRUE(zklock::testing::eventually([&] { return has_ended.load(); }));
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  while (!has_ended) (void)read_some(reader.get());
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
