// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/held_node_path.h"

#include <utility>

namespace zklock::detail {

std::string HeldNodePath::path() const {
  const std::lock_guard guard(mutex_);
  return path_;
}

void HeldNodePath::when_settled(Then then) {
  {
    const std::lock_guard guard(mutex_);
    if (moving_) {
      waiting_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void HeldNodePath::moves() {
  const std::lock_guard guard(mutex_);
  moving_ = true;
}

std::vector<HeldNodePath::Then> HeldNodePath::settles(std::string path) {
  const std::lock_guard guard(mutex_);
  moving_ = false;
  path_ = std::move(path);
  return std::exchange(waiting_, {});
}

}  // namespace zklock::detail
