// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace zklock::bench {

std::string Result::json() const {
  std::ostringstream text;
  text << std::setprecision(9) << "{\"ops\": " << ops << ", \"seconds\": " << seconds
       << ", \"p50\": " << samples.percentile(0.5) << ", \"p99\": " << samples.percentile(0.99)
       << ", \"cycles\": " << cycles << ", \"overlaps\": " << overlaps;
  for (const auto& [name, value] : more) text << ", \"" << name << "\": " << value;
  text << "}";
  return text.str();
}

std::size_t Exclusive::enter(const Window* window) {
  const std::size_t before = grants_.fetch_add(1);
  if (inside_.fetch_add(1) != 0) {
    overlaps_.fetch_add(1);
    return before;
  }
  const Clock::time_point now = Clock::now();
  if (window != nullptr && !window->has(now)) return before;
  if (counting_) {
    intervals_.add(now - last_);
  } else {
    first_ = now;
    counting_ = true;
  }
  last_ = now;
  return before;
}

std::unique_ptr<Measure> make_measure(const Params& params, Contestant& contestant,
                                      const std::string& hosts) {
  if (auto measure = make_uncontended(params, contestant)) return measure;
  if (auto measure = make_contended(params, contestant)) return measure;
  if (auto measure = make_drain(params, contestant, hosts)) return measure;
  if (auto measure = make_at_rest(params, contestant, hosts)) return measure;
  throw std::invalid_argument("no such measure: " + params.text("kind"));
}

}  // namespace zklock::bench
