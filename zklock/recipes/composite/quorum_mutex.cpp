// SPDX-License-Identifier: Apache-2.0
#include "zklock/quorum_mutex.h"

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "zklock/engine/client_core.h"
#include "zklock/error.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock {

namespace {

using Cores = std::vector<std::shared_ptr<detail::ClientCore>>;

std::shared_ptr<detail::Composite> majority_of(const Cores& cores, const std::string& path,
                                               const QuorumOptions& options) {
  const core::LockPath checked(path);
  if (cores.empty())
    throw Error(Errc::invalid_option, "lock", path, "the list of clients is empty");
  if (std::set(cores.begin(), cores.end()).size() < cores.size()) {
    throw Error(Errc::invalid_option, "lock", path,
                "a client is given twice; give one client for each ensemble");
  }
  if (options.ensemble_timeout <= std::chrono::milliseconds(0)) {
    throw Error(Errc::invalid_option, "lock", path, "the ensemble timeout is not positive");
  }
  const auto delay = detail::checked_delay(options.lock_delay, path);
  const LockOptions each{.listener = options.listener,
                         .executor = options.executor,
                         .max_hold = options.max_hold,
                         .expiry_notice = options.expiry_notice};
  const auto limit = detail::checked_limit(each, path);
  const auto listener = detail::make_listener(*cores.front(), each);
  std::vector<detail::Composite::Part> parts;
  for (const auto& core : cores) {
    parts.push_back(std::make_unique<detail::PathPartLock>(
        *core, checked, core::QueueRule::mutex(), delay,
        detail::LockEventSink(listener, parts.size()), options.label));
  }
  auto composite = std::make_shared<detail::Composite>(
      std::move(parts),
      detail::Composite::Rule{.needed = cores.size() / 2 + 1,
                              .queue_again = options.on_node_lost == OnNodeLost::queue_again,
                              .limit = limit,
                              .listener = listener,
                              .part_timeout = detail::saturated(options.ensemble_timeout),
                              .texts = detail::CallTexts::of_object(options.label)});
  composite->check_usable("lock");
  return composite;
}

}  // namespace

QuorumMutex::QuorumMutex(const Clients& clients, std::string path, const QuorumOptions& options)
    : CompositeMutex([&] {
        Cores cores;
        for (Client& client : clients) cores.push_back(detail::ClientCore::of(client));
        return majority_of(cores, path, options);
      }()),
      path_(std::move(path)) {}

}  // namespace zklock
