// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/background_work.h"

#include "zklock/recipes/slices.h"

namespace zklock::recipes {

BackgroundWork::Id BackgroundWork::begin() {
  const std::lock_guard guard(mutex_);
  ++last_;
  if (!closed_) under_way_.insert(last_);
  return Id{last_};
}

void BackgroundWork::end(Id id) noexcept {
  const std::lock_guard guard(mutex_);
  under_way_.erase(static_cast<std::uint64_t>(id));
  ended_.notify_all();
}

bool BackgroundWork::idle() const {
  const std::lock_guard guard(mutex_);
  return under_way_.empty();
}

void BackgroundWork::close() noexcept {
  const std::lock_guard guard(mutex_);
  closed_ = true;
  under_way_.clear();
  ended_.notify_all();
}

bool BackgroundWork::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t mark = last_;
  return wait_in_slices(ended_, lock, deadline,
                        [&] { return under_way_.empty() || *under_way_.begin() > mark; });
}

}  // namespace zklock::recipes
