// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake/threads_at_rest.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace zklock::testing::detail {

namespace {

constexpr const char* kTasks = "/proc/self/task";

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "/proc/self/task does not show the threads; set FakeEnsembleOptions::rest_limit to 0");
}

/// REQUIRES: a system call has failed. Throws, except if the thread has ended or has no such file.
void require_absence() {
  if (errno == ENOENT || errno == ESRCH) return;
  throw std::system_error(errno, std::generic_category(), kTasks);
}

/// A file of a thread, read at once.
class TaskFile {
 public:
  /// Throws std::system_error if the file exists and cannot be read.
  TaskFile(pid_t thread, const char* name) {
    const std::string path = std::string(kTasks) + "/" + std::to_string(thread) + "/" + name;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      require_absence();
      return;
    }
    // The kernel makes the whole text at the first read.
    const ssize_t length = ::read(fd, text_.data(), text_.size());
    const int error = errno;
    ::close(fd);
    errno = error;
    if (length < 0) require_absence();
    if (length > 0) text_length_ = static_cast<std::size_t>(length);
  }
  /// Returns the text; empty if the thread has ended or the file does not exist.
  std::string_view text() const noexcept { return {text_.data(), text_length_}; }
  /// Returns the text behind a label in the file; empty if it is not there.
  std::string_view behind(std::string_view label) const noexcept {
    const auto at = text().find(label);
    return at == std::string_view::npos ? std::string_view() : text().substr(at + label.size());
  }

 private:
  std::array<char, 16384> text_;
  std::size_t text_length_ = 0;
};

unsigned long number(std::string_view text) {
  return std::strtoul(std::string(text.substr(0, 24)).c_str(), nullptr, 10);
}

/// Returns whether the kernel shows that the thread is off the processor and asleep. A kernel that
/// does not show system calls leaves the decision to the state.
bool is_off_processor(pid_t thread) {
  return !TaskFile(thread, "syscall").text().starts_with("running");
}

/// Returns whether a thread in this state sleeps or has ended. A debugger also stops threads that
/// could run, so a stopped thread does not count.
bool is_asleep(std::string_view state) {
  return !state.empty() && std::string_view("SXZ").find(state.front()) != std::string_view::npos;
}

}  // namespace

bool ThreadsAtRest::look(std::vector<Thread>& threads) {
  threads.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(kTasks), &::closedir);
  if (!directory) refuse();
  while (const dirent* const entry = ::readdir(directory.get())) {
    const auto id = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (id > 0 && id != ::gettid()) threads.push_back({id});
  }
  for (Thread& thread : threads) {
    const bool is_off = is_off_processor(thread.id);
    const TaskFile status(thread.id, "status");
    if (status.text().empty()) continue;  // it has ended; the looks differ, or both show it
    const std::string_view voluntary = status.behind("\nvoluntary_ctxt_switches:\t");
    const std::string_view other = status.behind("\nnonvoluntary_ctxt_switches:\t");
    if (voluntary.empty() || other.empty()) refuse();
    thread.switches = number(voluntary) + number(other);
    if (is_off && is_asleep(status.behind("\nState:\t"))) continue;
    awake_ = thread.id;
    return false;
  }
  return true;
}

bool ThreadsAtRest::check() {
  return look(first_) && look(second_) && first_ == second_;
}

std::string ThreadsAtRest::awake() const {
  std::string name(TaskFile(awake_, "comm").text());
  std::erase(name, '\n');
  return "thread \"" + name + "\" (id " + std::to_string(awake_) + ")";
}

}  // namespace zklock::testing::detail
