// SPDX-License-Identifier: Apache-2.0
#include "bench/samples.h"

#include <algorithm>

namespace zklock::bench {
namespace {

constexpr std::size_t kMostKept = 1'000'000;

}  // namespace

double in_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void Samples::add(Clock::duration sample) {
  ++count_;
  if (kept_.size() < kMostKept) kept_.push_back(sample);
}

void Samples::add_all(const Samples& others) {
  for (const Clock::duration sample : others.kept_) add(sample);
}

double Samples::percentile(double fraction) const {
  if (kept_.empty()) return 0;
  std::vector<Clock::duration> sorted = kept_;
  const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1));
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sorted.begin(), at, sorted.end());
  return in_seconds(*at) * 1e6;
}

}  // namespace zklock::bench
