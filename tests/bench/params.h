// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "bench/samples.h"

namespace zklock::bench {

/// What the driver asks for: "name=value" words. A missing one is a std::invalid_argument, and so is
/// one that is no number, where one is asked for, or out of range.
///
/// Thread-safety: a value.
class Params {
 public:
  explicit Params(const std::string& words);

  const std::string& text(const std::string& name) const;
  std::size_t number(const std::string& name) const;
  Clock::duration seconds(const std::string& name) const;
  bool has(const std::string& name) const { return values_.contains(name); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace zklock::bench
