// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "zklock/fencing_token.h"

namespace zklock::chaos {

// What a lock protects, as the documentation of FencingToken wants it: it refuses a token lower than
// the highest it has seen. Readers have tokens of their own, which rise from a writer to its readers;
// among themselves they come in any order.
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
