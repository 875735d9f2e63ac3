// SPDX-License-Identifier: Apache-2.0
#include "zklock/priority_mutex.h"

#include "zklock/recipes/locks/forwarders.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

using detail::LockHandle;

namespace {

constexpr int kMostAgeing = 1'000'000;

std::optional<Error> refusal_of(int weight, const std::string& path) {
  if (weight >= 1 && weight <= core::kMostWeight) return std::nullopt;
  return Error(Errc::invalid_option, "lock", path,
               "a weight is a number from 1 to 10, not " + std::to_string(weight));
}

int checked_weight(int weight, const std::string& path) {
  if (const auto refused = refusal_of(weight, path)) throw *refused;
  return weight;
}

/// Returns 0 if there is no ageing.
int checked_ageing(std::optional<int> ageing, const std::string& path) {
  if (!ageing || (*ageing >= 1 && *ageing <= kMostAgeing)) return ageing.value_or(0);
  throw Error(Errc::invalid_option, "lock", path,
              "an ageing is a number from 1 to 1000000, not " + std::to_string(*ageing));
}

CohortOptions lock_options(const PriorityOptions& options) {
  return {.label = options.label,
          .on_node_lost = options.on_node_lost,
          .listener = options.listener,
          .executor = options.executor,
          .max_hold = options.max_hold,
          .expiry_notice = options.expiry_notice,
          .lock_delay = options.lock_delay};
}

LockHandle::Kind kind(int weight, int ageing, const std::string& path) {
  if (auto refused = refusal_of(weight, path)) return {.refusal = std::move(refused)};
  return {.rule = core::QueueRule::mutex(), .gate = core::QueueRule::weighted(weight, ageing)};
}

}  // namespace

PriorityMutex::PriorityMutex(Client& client, std::string path, const PriorityOptions& options)
    : weight_(checked_weight(options.weight, path)),
      ageing_(checked_ageing(options.ageing, path)),
      lock_handle_(LockHandle::make(client, std::move(path), lock_options(options))) {}

PriorityMutex::~PriorityMutex() {
  LockHandle::object_destroyed(std::move(lock_handle_));
}

bool PriorityMutex::lock_until(Deadline deadline, std::stop_token stop) {
  return lock_handle_->lock(kind(weight_, ageing_, path()), deadline, stop);
}

ZKLOCK_DEFINE_TIMED_LOCK(PriorityMutex, )
ZKLOCK_DEFINE_ACQUIRING_LOCK(PriorityMutex, , lock_handle_,
                             kind(weight.value_or(weight_), ageing_, path()),
                             std::optional<int> weight)
ZKLOCK_DEFINE_QUEUED_LOCK(PriorityMutex, lock_handle_)

void PriorityMutex::unlock() {
  lock_handle_->unlock(core::CountKind::lock, "unlock");
}

bool PriorityMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int PriorityMutex::hold_count() const {
  return lock_handle_->ownership().exclusive_count();
}

std::vector<Participant> PriorityMutex::participants(Deadline deadline) const {
  return lock_handle_->participants(deadline);
}

}  // namespace zklock
