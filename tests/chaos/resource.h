// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "zklock/fencing_token.h"

namespace zklock::chaos {

// A resource that a lock protects, as the documentation of FencingToken demands. It refuses a write
// whose token is lower than the highest one seen. Readers among themselves come in any order, so a
// read is refused only if its token is lower than the last writer's.
class Resource {
 public:
  bool write(const FencingToken& token) {
    if (token < highest_) return false;
    written_ = highest_ = token;
    return true;
  }
  bool read(const FencingToken& token) {
    if (token < written_) return false;
    highest_ = std::max(highest_, token);
    return true;
  }

 private:
  FencingToken highest_;
  FencingToken written_;
};

}  // namespace zklock::chaos
