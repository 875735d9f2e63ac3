// SPDX-License-Identifier: Apache-2.0
#include "zklock/multi_mutex.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include "zklock/error.h"
#include "zklock/recipes/composite.h"
#include "zklock/recipes/object_options.h"
#include "zklock/recipes/path_part.h"

namespace zklock {

namespace {

std::shared_ptr<recipes::Composite> all_of(recipes::ClientCore& core,
                                           const std::vector<std::string>& paths,
                                           const MutexOptions& options) {
  if (paths.empty()) throw Error(Errc::invalid_option, "lock", "", "there is no path to be locked");
  std::vector<core::LockPath> checked;
  for (const std::string& path : paths) checked.emplace_back(path);
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return paths[i]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (paths[order[i]] != paths[order[i - 1]]) continue;
    throw Error(Errc::invalid_option, "lock", paths[order[i]], "the path is named twice");
  }
  core.check_usable("lock", paths.front());
  const auto limit = recipes::checked_limit(options, paths.front());
  recipes::check_not_local(options, paths.front());
  const auto delay = recipes::checked_delay(options.lock_delay, paths.front());
  const auto listener = recipes::make_line(core, options);
  std::vector<recipes::Composite::Part> parts;
  for (const std::size_t place : order) {
    parts.push_back({std::make_unique<recipes::PathPart>(core, checked[place], delay,
                                                         recipes::LockAudience(listener, place)),
                     place});
  }
  return std::make_shared<recipes::Composite>(
      std::move(parts),
      recipes::Composite::Rule{.needed = paths.size(),
                               .queue_again = options.on_node_lost == OnNodeLost::queue_again,
                               .limit = limit,
                               .listener = listener});
}

}  // namespace

MultiMutex::MultiMutex(Client& client, std::vector<std::string> paths, MutexOptions options)
    : CompositeMutex(all_of(*recipes::ClientCore::of(client), paths, options)),
      paths_(std::move(paths)) {}

}  // namespace zklock
