// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "bench/samples.h"

namespace zklock::bench {

/// The parameters of a measure: "name=value" words. Throws std::invalid_argument if a parameter is
/// missing, is no number where a number is needed, or is out of range.
///
/// Thread-safety: a value.
class Params {
 public:
  explicit Params(const std::string& words);

  /// Returns these parameters, with another value of one.
  Params with(const std::string& name, const std::string& value) const;

  const std::string& text(const std::string& name) const;
  std::size_t number(const std::string& name) const;
  Clock::duration seconds(const std::string& name) const;
  bool has(const std::string& name) const { return values_.contains(name); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace zklock::bench
