// SPDX-License-Identifier: Apache-2.0
#include "zklock/multi_mutex.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include "zklock/engine/client_core.h"
#include "zklock/error.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/path_part_lock.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock {

namespace {

std::shared_ptr<detail::Composite> all_of(detail::ClientCore& core,
                                          const std::vector<std::string>& paths,
                                          const ExclusiveOptions& options) {
  if (paths.empty()) throw Error(Errc::invalid_option, "lock", "", "the list of paths is empty");
  std::vector<core::LockPath> checked;
  for (const std::string& path : paths) checked.emplace_back(path);
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return paths[i]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (paths[order[i]] != paths[order[i - 1]]) continue;
    throw Error(Errc::invalid_option, "lock", paths[order[i]], "the path is given twice");
  }
  core.check_usable("lock", paths.front());
  const auto limit = detail::checked_limit(options, paths.front());
  const auto delay = detail::checked_delay(options.lock_delay, paths.front());
  const auto listener = detail::make_listener(core, options);
  std::vector<detail::Composite::Part> parts;
  for (const std::size_t index : order) {
    parts.push_back({std::make_unique<detail::PathPartLock>(core, checked[index], delay,
                                                            detail::LockEventSink(listener, index)),
                     index});
  }
  return std::make_shared<detail::Composite>(
      std::move(parts),
      detail::Composite::Rule{.needed = paths.size(),
                              .queue_again = options.on_node_lost == OnNodeLost::queue_again,
                              .limit = limit,
                              .listener = listener});
}

}  // namespace

MultiMutex::MultiMutex(Client& client, std::vector<std::string> paths,
                       const ExclusiveOptions& options)
    : CompositeMutex(all_of(*detail::ClientCore::of(client), paths, options)),
      paths_(std::move(paths)) {}

}  // namespace zklock
