// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "conformance/chronicle.h"
#include "zklock/fencing_token.h"

namespace zklock::testing {

// Detects whether functions of several elections on one path overlap.
class OverlapDetector {
 public:
  // The lifetime of one function call.
  class Call {
   public:
    Call(OverlapDetector& detector, FencingToken token) : detector_(detector) {
      if (++detector_.inside_ > 1) detector_.overlapped_ = true;
      detector_.tokens_.add(token);
    }
    ~Call() { --detector_.inside_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OverlapDetector& detector_;
  };

  bool reaches(std::size_t calls) const { return tokens_.reaches(calls); }
  std::size_t calls() const { return tokens_.size(); }
  bool is_empty() const {
    return eventually([this] { return inside_ == 0; }, kTestTimeout);
  }
  bool overlapped() const { return overlapped_; }
  bool tokens_rise() const {
    const auto tokens = tokens_.all();
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (tokens[i] <= tokens[i - 1]) return false;
    }
    return true;
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> overlapped_{false};
  Chronicle<FencingToken> tokens_;
};

}  // namespace zklock::testing
