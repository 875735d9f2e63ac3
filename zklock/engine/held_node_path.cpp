// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/held_node_path.h"

#include <cassert>

namespace zklock::detail {

std::string HeldNodePath::path() const {
  const client::MutexLock guard(mutex_);
  return parent_.child(name_);
}

void HeldNodePath::when_settled(Then then) {
  {
    const client::MutexLock guard(mutex_);
    if (renaming_) {
      waiting_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void HeldNodePath::begin_rename() {
  const client::MutexLock guard(mutex_);
  assert(!renaming_);
  renaming_ = true;
}

std::vector<HeldNodePath::Then> HeldNodePath::end_rename(std::string name) {
  const client::MutexLock guard(mutex_);
  assert(renaming_);
  renaming_ = false;
  name_ = std::move(name);
  return std::exchange(waiting_, {});
}

}  // namespace zklock::detail
