// SPDX-License-Identifier: Apache-2.0
#include "bench/params.h"

#include <chrono>
#include <sstream>
#include <stdexcept>

namespace zklock::bench {

Params::Params(const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not name=value: " + word);
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

const std::string& Params::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::invalid_argument("missing: " + name);
  return found->second;
}

std::size_t Params::number(const std::string& name) const {
  return std::stoul(text(name));
}

Clock::duration Params::seconds(const std::string& name) const {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::stod(text(name))));
}

}  // namespace zklock::bench
