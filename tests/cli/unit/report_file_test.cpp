// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/report_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {
namespace {

namespace fs = std::filesystem;

class ReportFileTest : public ::testing::Test {
 protected:
  ReportFileTest() {
    std::string name = ::testing::TempDir() + "zklock-report.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ReportFileTest() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string read_some(int fd) {
    std::array<char, 100> bytes{};
    const ssize_t length = ::read(fd, bytes.data(), bytes.size());
    return {bytes.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  }
  static int code_of(const std::string& name) {
    try {
      const ReportFile checked(name);
      return 0;
    } catch (const Failure& failure) {
      return failure.exit_code();
    }
  }

  fs::path folder_;
};

TEST_F(ReportFileTest, RegularFile_IsReplaced) {
  const fs::path file = folder_ / "report";
  std::ofstream(file) << "an old and longer report\n";
  const ReportFile report(file);
  EXPECT_EQ(content(file), "an old and longer report\n");
  report.write("first\n");
  report.write("second\n");
  EXPECT_EQ(content(file), "second\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(ReportFileTest, Link_StaysALink) {
  const fs::path link = folder_ / "link";
  fs::create_symlink("folder/report", link);
  EXPECT_EQ(code_of(link), ExitCode::kData);
  fs::create_directory(folder_ / "folder");
  ReportFile(link).write("text\n");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(folder_ / "folder/report"), "text\n");
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_EQ(code_of(folder_ / "circle"), ExitCode::kData);
}

TEST_F(ReportFileTest, Device_StaysADevice) {
  const fs::path link =
      folder_ / "null";  // a fault replaces the link, not the device of this system
  fs::create_symlink("/dev/null", link);
  ReportFile(link).write("text\n");
  EXPECT_TRUE(fs::is_character_file(link));
  fs::create_symlink("/dev/full", folder_ / "full");
  EXPECT_THROW(ReportFile(folder_ / "full").write("text\n"), Failure);
}

TEST_F(ReportFileTest, NamedPipe_GetsTheReport) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const ReportFile report(pipe);
  EXPECT_THROW(report.write("text\n"), Failure) << "without a reader";
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  report.write("text\n");
  EXPECT_EQ(read_some(reader.get()), "text\n");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(ReportFileTest, Descriptor_GetsTheReport) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string number = std::to_string(writer.get());
  fs::create_symlink("/dev/fd/" + number, folder_ / "link");
  const ReportFile report("/dev/fd/" + number);
  const ReportFile by_link(folder_ / "link");
  writer.reset();  // as if another file had the number now
  report.write("text\n");
  EXPECT_EQ(read_some(reader.get()), "text\n");
  by_link.write("more\n");
  EXPECT_EQ(read_some(reader.get()), "more\n");
  EXPECT_EQ(code_of("/dev/fd/" + std::to_string(reader.get())), ExitCode::kData)
      << "not for output";
  EXPECT_EQ(code_of("/dev/fd/" + number), ExitCode::kData) << "closed";
}

TEST_F(ReportFileTest, UnusableName_IsRefused) {
  EXPECT_EQ(code_of(folder_), ExitCode::kData);
  EXPECT_EQ(code_of("/none/report"), ExitCode::kData);
  EXPECT_EQ(code_of(folder_ / "none/"), ExitCode::kData);
}

}  // namespace
}  // namespace zklock::cli
