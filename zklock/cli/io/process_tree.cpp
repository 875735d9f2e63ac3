// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/process_tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

/// Returns the parent of a process; 0 if it has ended.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  // The name of the program, in parentheses, may contain parentheses, too.
  const auto name_end = std::min(line.rfind(')'), line.size());
  std::istringstream rest(line.substr(name_end));
  std::string skipped;
  pid_t parent = 0;
  rest >> skipped >> skipped >> parent;  // ")", the state, the parent
  return parent;
}

bool is_descendant(pid_t root, pid_t likely_parent, pid_t pid) {
  do {
    pid = parent_of(pid);
    if (pid == root || pid == likely_parent) return true;
  } while (pid > 1);
  return false;
}

}  // namespace

std::vector<pid_t> children_of(pid_t pid) {
  using Entries = std::filesystem::directory_iterator;
  std::vector<pid_t> children;
  std::error_code error;  // the process may end meanwhile
  Entries thread("/proc/" + std::to_string(pid) + "/task", error);
  for (; thread != Entries(); thread.increment(error)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

void check_process_tree() {
  std::array<char, 32> self{};
  const bool shows_us = ::readlink("/proc/self", self.data(), self.size() - 1) > 0 &&
                        std::string(self.data()) == std::to_string(::getpid());
  const std::string children = "/proc/self/task/" + std::to_string(::gettid()) + "/children";
  if (shows_us && std::ifstream(children)) return;
  throw Failure(ExitCode::kSystem,
                "/proc does not show the children of this process, so the command could not be "
                "ended in time; mount /proc in this pid namespace");
}

int signal_descendant(pid_t root, pid_t parent, pid_t pid, int signal) {
  // The descriptor is of one process. When that has ended, the signal fails, even if its number is
  // in use again.
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.get() < 0 && errno == ESRCH) return ESRCH;
  if (!is_descendant(root, parent, pid)) return ESRCH;
  if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return 0;
  if (errno == ESRCH) return ESRCH;
  // An old kernel or a filter of system calls refuses descriptors of processes.
  return ::kill(pid, signal) == 0 ? 0 : errno;
}

Descendants signal_descendants(pid_t root, int signal, std::span<const pid_t> skipped) {
  struct Found {
    pid_t pid;
    pid_t parent;
  };
  std::vector<Found> all;
  const auto append = [&](pid_t parent) {
    for (const pid_t pid : children_of(parent)) all.push_back({pid, parent});
  };
  append(root);
  std::erase_if(all, [&](const Found& each) {
    return std::ranges::find(skipped, each.pid) != skipped.end();
  });
  Descendants result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [pid, parent] = all[i];
    // Before its signal: a process that ends leaves its children to another parent.
    append(pid);
    const int error = signal_descendant(root, parent, pid, signal);
    if (error == 0) result.signalled.push_back(pid);
    if (error == EPERM) result.refused.push_back(pid);
  }
  return result;
}

}  // namespace zklock::cli
