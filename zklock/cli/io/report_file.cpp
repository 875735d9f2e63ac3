// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/report_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

namespace fs = std::filesystem;

/// A pipe that is ready for output accepts so many bytes without blocking.
constexpr std::size_t kChunk = 4'096;
constexpr int kLongestWaitMs = 5'000;  ///< until a pipe accepts output
constexpr int kMostLinks = 40;         ///< the limit of Linux

/// Returns the descriptor that a name in /proc/self/fd stands for; -1 for any other name.
int descriptor_of(const fs::path& name) {
  std::error_code error;
  const fs::path folder = fs::canonical(name.has_parent_path() ? name.parent_path() : ".", error);
  if (error || folder != fs::canonical("/proc/self/fd", error) || error) return -1;
  const std::string text = name.filename();
  int fd = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), fd);
  return problem == std::errc() && end == text.data() + text.size() ? fd : -1;
}

/// Returns the name that links lead to: that of a descriptor, of a file, or of no file yet. Returns
/// an empty name if the links form a circle.
fs::path resolved(fs::path name) {
  std::error_code error;
  for (int links = 0; descriptor_of(name) < 0 && fs::is_symlink(name, error); ++links) {
    if (links == kMostLinks) return {};
    name = name.parent_path() / fs::read_symlink(name, error);
  }
  return name;
}

// Several runs can have one file, for example in the queue.
std::string temporary(const std::string& file) {
  return file + "." + std::to_string(::getpid()) + ".tmp";
}

UniqueFd create(const std::string& file) {
  return UniqueFd(
      ::open(temporary(file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
}

/// Writes all. Returns false with errno.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    pollfd output{fd, POLLOUT, 0};
    const int ready = ::poll(&output, 1, kLongestWaitMs);
    if (ready == 0) errno = ETIMEDOUT;
    if (ready <= 0) return false;
    const ssize_t length = ::write(fd, text.data(), std::min(text.size(), kChunk));
    if (length < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

/// Returns 0 if the name of no regular file can be written, else an error number.
int error_of_output(const std::string& file, mode_t mode) {
  if (S_ISDIR(mode)) return EISDIR;
  if (S_ISSOCK(mode)) return ENXIO;
  return ::access(file.c_str(), W_OK) == 0 ? 0 : errno;
}

}  // namespace

ReportFile::ReportFile(const std::string& name) : shown_("the report " + display_text(name)) {
  const auto refuse_if = [this](bool is_wrong, int error) {
    if (is_wrong) throw Failure(ExitCode::kData, system_failure(shown_, error).what());
  };
  target_ = resolved(name);
  refuse_if(target_.empty(), name.empty() ? ENOENT : ELOOP);
  struct stat status {};
  if (const int fd = descriptor_of(target_); fd >= 0) {
    const int flags = ::fcntl(fd, F_GETFL);
    refuse_if(flags < 0, EBADF);
    refuse_if((flags & O_ACCMODE) == O_RDONLY, EACCES);
    fd_ = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    refuse_if(fd_.get() < 0, errno);
  } else if (::stat(target_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    is_replaced_ = false;
    const int error = error_of_output(target_, status.st_mode);
    refuse_if(error != 0, error);
  } else {
    refuse_if(create(target_).get() < 0, errno);
    ::unlink(temporary(target_).c_str());
  }
}

void ReportFile::write(const std::string& text) const {
  bool is_written = false;
  if (fd_.get() >= 0) {
    is_written = write_all(fd_.get(), text);
  } else if (is_replaced_) {
    const UniqueFd fd = create(target_);
    is_written = fd.get() >= 0 && write_all(fd.get(), text) && ::fsync(fd.get()) == 0 &&
                 ::rename(temporary(target_).c_str(), target_.c_str()) == 0;
  } else {
    const UniqueFd fd(::open(target_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    is_written = fd.get() >= 0 && write_all(fd.get(), text);
  }
  if (!is_written) throw system_failure(shown_);
}

}  // namespace zklock::cli
