// SPDX-License-Identifier: Apache-2.0
#include "zklock/multi_mutex.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "zklock/core/queue_rule.h"
#include "zklock/engine/client_core.h"
#include "zklock/error.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock {

namespace {

std::vector<LockPart> mutexes_on(std::vector<std::string> paths) {
  std::vector<LockPart> parts;
  for (std::string& path : paths) parts.push_back(LockPart::mutex(std::move(path)));
  return parts;
}

}  // namespace

LockPart LockPart::mutex(std::string path) {
  return {std::move(path), Access::exclusive};
}

LockPart LockPart::writer(std::string path) {
  LockPart part(std::move(path), Access::exclusive);
  part.is_writer_ = true;
  return part;
}

LockPart LockPart::reader(std::string path) {
  return {std::move(path), Access::shared};
}

LockPart LockPart::permits(std::string path, int permits, int count) {
  LockPart part(std::move(path), Access::permits);
  part.permits_ = permits;
  part.count_ = count;
  return part;
}

LockPart LockPart::permits(std::string path, int permits, SharedCount count) {
  LockPart part = LockPart::permits(std::move(path), permits, count.initial);
  part.is_shared_ = true;
  return part;
}

std::shared_ptr<detail::Composite> MultiMutex::all_of(Client& client,
                                                      std::span<const LockPart> parts,
                                                      const ExclusiveOptions& options) {
  const auto core = detail::ClientCore::of(client);
  if (parts.empty()) throw Error(Errc::invalid_option, "lock", "", "the list of paths is empty");
  std::vector<core::LockPath> checked;
  for (const LockPart& part : parts) checked.emplace_back(part.path_);
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return parts[i].path_; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::string& path = parts[order[i]].path_;
    if (path != parts[order[i - 1]].path_) continue;
    throw Error(Errc::invalid_option, "lock", path, "the path is given twice");
  }
  const std::string& first = parts.front().path_;
  core->check_usable("lock", first);
  const auto limit = detail::checked_limit(options, first);
  const auto delay = detail::checked_delay(options.lock_delay, first);
  const auto listener = detail::make_listener(*core, options);
  const auto rule_of = [](const LockPart& part) {
    if (part.access_ == Access::shared) return core::QueueRule::reader();
    if (part.access_ == Access::permits) {
      return detail::checked_permits(part.permits_, part.count_, part.is_shared_, part.path_);
    }
    return part.is_writer_ ? core::QueueRule::writer() : core::QueueRule::mutex();
  };
  std::vector<detail::Composite::Part> made;
  for (const std::size_t index : order) {
    made.push_back(std::make_unique<detail::PathPartLock>(
        *core, checked[index], rule_of(parts[index]), delay, detail::LockEventSink(listener, index),
        options.label));
  }
  return std::make_shared<detail::Composite>(
      std::move(made),
      detail::Composite::Rule{.needed = parts.size(),
                              .queue_again = options.on_node_lost == OnNodeLost::queue_again,
                              .limit = limit,
                              .listener = listener,
                              .texts = detail::CallTexts::of_object(options.label)});
}

MultiMutex::MultiMutex(Client& client, std::vector<std::string> paths,
                       const ExclusiveOptions& options)
    : MultiMutex(client, mutexes_on(std::move(paths)), options) {}

MultiMutex::MultiMutex(Client& client, std::span<const LockPart> parts,
                       const ExclusiveOptions& options)
    : CompositeMutex(all_of(client, parts, options)) {
  for (const LockPart& part : parts) paths_.push_back(part.path());
}

std::vector<std::vector<Participant>> MultiMutex::participants(Deadline deadline) const {
  std::vector<std::vector<Participant>> all(composite().size());
  const detail::TimeLimit limit(deadline, composite().part(0).context().scheduler().now());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[composite().part(i).index()] = composite().part(i).participants(limit);
  }
  return all;
}

}  // namespace zklock
