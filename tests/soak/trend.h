// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace zklock::soak {

struct Point {
  double x = 0;
  double y = 0;
};

// Returns the slope of the least-squares line. Returns nullopt if all points have one value of x.
// Pure.
inline std::optional<double> slope(std::span<const Point> points) {
  const auto n = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const Point& p : points) {
    mean_x += p.x / n;
    mean_y += p.y / n;
  }
  double xx = 0;
  double xy = 0;
  for (const Point& p : points) {
    xx += (p.x - mean_x) * (p.x - mean_x);
    xy += (p.x - mean_x) * (p.y - mean_y);
  }
  if (!(xx > 0)) return std::nullopt;
  return xy / xx;
}

}  // namespace zklock::soak
