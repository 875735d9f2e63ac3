// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/process_tree.h"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#include <dirent.h>
#include <signal.h>

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

Descendants signal_descendants(pid_t root, int signal, pid_t skipped) {
  // The whole list first: a process that ends leaves its children to another parent.
  std::vector<pid_t> all;
  append_children(root, all);
  for (std::size_t i = 0; i < all.size(); ++i) append_children(all[i], all);
  Descendants found;
  for (const pid_t pid : all) {
    if (pid == skipped) continue;
    ++found.count;
    if (::kill(pid, signal) != 0 && errno == EPERM) found.refused.push_back(pid);
  }
  return found;
}

}  // namespace zklock::cli
