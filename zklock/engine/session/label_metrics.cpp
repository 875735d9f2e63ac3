// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/label_metrics.h"

#include "zklock/core/znode_data.h"

namespace zklock::detail {

LockMetrics LabelMetrics::read(std::string_view label) const {
  LockMetrics all;
  all.lock = label;
  for (std::size_t i = 0; i < acquires_.size(); ++i) all.acquires.at(i) = acquires_[i].read();
  for (std::size_t i = 0; i < ended_holds_.size(); ++i) {
    all.ended_holds.at(i) = ended_holds_[i].read();
  }
  for (std::size_t i = 0; i < losses_.size(); ++i) all.losses.at(i) = losses_[i].load();
  all.deadlocks = deadlocks_.load();
  all.leaderships = leaderships_.load();
  all.candidates = candidates_.load();
  return all;
}

LabelMetrics& LabelRegistry::of(std::string_view label) {
  std::string name = label.empty() ? "unnamed" : core::printable(label, core::kMaxValueBytes);
  if (labels_.size() >= kMostLabels && !labels_.contains(name)) name = "other";
  return labels_[std::move(name)];
}

std::vector<std::pair<std::string, const LabelMetrics*>> LabelRegistry::all() const {
  std::vector<std::pair<std::string, const LabelMetrics*>> all;
  for (const auto& [label, metrics] : labels_) all.emplace_back(label, &metrics);
  return all;
}

}  // namespace zklock::detail
