// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/outer_locks.h"

#include <algorithm>
#include <vector>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/split.hpp>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

std::vector<std::string> split(const std::string& text, const char* separator) {
  std::vector<std::string> parts;
  return boost::split(parts, text, boost::is_any_of(separator));
}

/// Returns the hosts in one order, with the chroot, so that equal lists compare equal.
std::string sorted_hosts(const std::string& hosts) {
  const auto chroot = std::min(hosts.find('/'), hosts.size());
  auto names = split(hosts.substr(0, chroot), ",");
  std::ranges::sort(names);
  return boost::join(names, ",") + hosts.substr(chroot);
}

}  // namespace

std::string held_with(const std::string& held, int pid, const std::string& hosts,
                      const std::string& path) {
  const std::string line = sorted_hosts(hosts) + path;
  for (const std::string& each : split(held, "\n")) {
    const auto space = each.find(' ');
    if (space != std::string::npos && each.substr(space + 1) == line) {
      throw Failure(ExitCode::kData, "this command runs under the lock already (pid " +
                                         display_text(each.substr(0, space)) +
                                         "): it would wait for itself");
    }
  }
  return held + (held.empty() || held.ends_with('\n') ? "" : "\n") + std::to_string(pid) + ' ' +
         line;
}

}  // namespace zklock::cli
