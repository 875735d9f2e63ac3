// SPDX-License-Identifier: Apache-2.0
#include "zklock/survey.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "zklock/core/wait_cycles.h"
#include "zklock/engine/client_core.h"
#include "zklock/recipes/observe/survey_reader.h"

namespace zklock {

namespace {

/// If this many holders of permits block a contender, the others are left out. A contender of
/// permits waits for some of the holders, not for all.
constexpr std::size_t kMostPermitHolders = 8;

/// A contender, and another one for which it waits.
struct Wait {
  const SurveyedLock* lock;
  const Participant* waiter;
  const Participant* blocker;
};

/// Returns the part of the owner's text that identifies it; a name may follow. Empty if the znode
/// has no text.
std::string_view owner_of(const Participant& participant) {
  return std::string_view(participant.owner).substr(0, participant.owner.find(' '));
}

/// The waits among the locks, as edges between owners. Contains only owners that wait and also
/// block another contender, because no other owner is in a cycle.
class Waits {
 public:
  explicit Waits(std::span<const SurveyedLock> locks) {
    number_owners(locks);
    for (const SurveyedLock& lock : locks) add(lock);
  }
  const std::vector<core::WaitEdge>& edges() const noexcept { return edges_; }
  WaitStep step(std::size_t edge) const {
    const Wait& wait = waits_[edge];
    return {.path = wait.lock->path, .waiter = *wait.waiter, .blocker = *wait.blocker};
  }

 private:
  void number_owners(std::span<const SurveyedLock> locks) {
    std::set<std::string_view> blockers;
    for (const SurveyedLock& lock : locks) {
      for (const Participant& each : lock.state.holders) blockers.insert(owner_of(each));
      for (const Participant& each : lock.waiters) {
        if (each.access == Access::exclusive) blockers.insert(owner_of(each));
      }
    }
    blockers.erase(std::string_view());
    for (const SurveyedLock& lock : locks) {
      for (const Participant& each : lock.waiters) {
        const auto owner = owner_of(each);
        if (blockers.contains(owner)) numbers_.try_emplace(owner, numbers_.size());
      }
    }
  }
  void add(const SurveyedLock& lock) {
    const Participant* writer_ahead = nullptr;  // the nearest
    for (const Participant& waiter : lock.waiters) {
      const bool is_reader = waiter.access == Access::shared;
      if (numbers_.contains(owner_of(waiter))) {
        add_holders(lock, waiter);
        if (is_reader && writer_ahead != nullptr) add(lock, waiter, *writer_ahead, true);
      }
      if (waiter.access == Access::exclusive) writer_ahead = &waiter;
    }
  }
  void add_holders(const SurveyedLock& lock, const Participant& waiter) {
    std::size_t of_permits = 0;
    for (const Participant& holder : lock.state.holders) {
      if (waiter.access == Access::shared && holder.access == Access::shared) continue;
      const bool permits = waiter.access == Access::permits && holder.access == Access::permits;
      if (permits && ++of_permits > kMostPermitHolders) return;
      add(lock, waiter, holder, !permits);
    }
  }
  /// `blocks_alone`: the waiter cannot be granted before this blocker ends.
  void add(const SurveyedLock& lock, const Participant& waiter, const Participant& blocker,
           bool blocks_alone) {
    const auto to = numbers_.find(owner_of(blocker));
    if (to == numbers_.end()) return;
    const std::size_t from = numbers_.at(owner_of(waiter));
    if (!blocks_alone && from == to->second) return;  // it has some permits, and waits for more
    edges_.push_back({.waiter = from,
                      .blocker = to->second,
                      .is_certain = blocks_alone && waiter.thread_bound && blocker.thread_bound});
    waits_.push_back({&lock, &waiter, &blocker});
  }

  std::unordered_map<std::string_view, std::size_t> numbers_;
  std::vector<core::WaitEdge> edges_;
  std::vector<Wait> waits_;  ///< index: as edges_
};

}  // namespace

Survey::Survey(Client& client, std::string root, const SurveyOptions& options)
    : reader_(std::make_unique<detail::SurveyReader>(detail::ClientCore::of(client),
                                                     std::move(root), options)) {}

Survey::~Survey() = default;

SurveyPage Survey::next(std::size_t entries, Deadline deadline) {
  return reader_->next(entries, deadline);
}

bool Survey::is_complete() const noexcept {
  return reader_->is_complete();
}

const std::string& Survey::root() const noexcept {
  return reader_->root();
}

std::vector<LockCycle> find_cycles(std::span<const SurveyedLock> locks) {
  const Waits waits(locks);
  std::vector<LockCycle> found;
  for (const core::WaitCycle& cycle : core::wait_cycles(waits.edges())) {
    LockCycle& next = found.emplace_back();
    next.is_certain = cycle.is_certain;
    std::ranges::transform(cycle.edges, std::back_inserter(next.steps),
                           [&](std::size_t edge) { return waits.step(edge); });
  }
  return found;
}

}  // namespace zklock
