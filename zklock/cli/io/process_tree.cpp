// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/process_tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "zklock/cli/io/system_failure.h"

namespace zklock::cli {

namespace {

void append_children(pid_t pid, std::vector<pid_t>& children) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(tasks.c_str()), close);
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream file(tasks + '/' + entry->d_name + "/children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
}

}  // namespace

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

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  append_children(pid, children);
  return children;
}

Descendants signal_descendants(pid_t root, int signal, std::span<const pid_t> skipped) {
  // The whole list first: a process that ends leaves its children to another parent.
  std::vector<pid_t> all = children_of(root);
  std::erase_if(all, [&](pid_t pid) { return std::ranges::find(skipped, pid) != skipped.end(); });
  for (std::size_t i = 0; i < all.size(); ++i) append_children(all[i], all);
  Descendants found;
  for (const pid_t pid : all) {
    if (::kill(pid, signal) == 0) {
      ++found.count;
    } else if (errno == EPERM) {
      found.refused.push_back(pid);
    }
  }
  return found;
}

}  // namespace zklock::cli
