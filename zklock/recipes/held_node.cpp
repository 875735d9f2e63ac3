// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/held_node.h"

#include <utility>

namespace zklock::recipes {

std::string HeldNode::path() const {
  const std::lock_guard guard(mutex_);
  return path_;
}

void HeldNode::when_settled(Then then) {
  {
    const std::lock_guard guard(mutex_);
    if (moving_) {
      waiting_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void HeldNode::moves() {
  const std::lock_guard guard(mutex_);
  moving_ = true;
}

std::vector<HeldNode::Then> HeldNode::settles(std::string path) {
  const std::lock_guard guard(mutex_);
  moving_ = false;
  path_ = std::move(path);
  return std::exchange(waiting_, {});
}

}  // namespace zklock::recipes
