// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "bench/contestant.h"
#include "bench/params.h"
#include "bench/samples.h"

namespace zklock::bench {

struct Result {
  std::size_t ops = 0;     ///< operations in the counted time
  double seconds = 0;      ///< the counted time
  Samples samples;         ///< durations of one operation: see README.md
  std::size_t cycles = 0;  ///< all cycles of run(), including the warm-up
  std::size_t overlaps = 0;
  std::map<std::string, double> more;

  std::string json() const;
};

/// The constructor prepares everything and the destructor cleans up; neither is timed.
class Measure {
 public:
  Measure() = default;
  Measure(const Measure&) = delete;
  Measure& operator=(const Measure&) = delete;
  virtual ~Measure() = default;

  virtual Result run() = 0;
};

/// Make the measure that the parameter "kind" names; one function for each family.
std::unique_ptr<Measure> make_uncontended(const Params& params, Contestant& contestant);
std::unique_ptr<Measure> make_contended(const Params& params, Contestant& contestant);
std::unique_ptr<Measure> make_drain(const Params& params, Contestant& contestant,
                                    const std::string& hosts);
std::unique_ptr<Measure> make_at_rest(const Params& params, Contestant& contestant,
                                      const std::string& hosts);
std::unique_ptr<Measure> make_measure(const Params& params, Contestant& contestant,
                                      const std::string& hosts);

/// The counted time. It begins after a warm-up.
struct Window {
  explicit Window(const Params& params)
      : begin(Clock::now() + params.seconds("warm")), end(begin + params.seconds("seconds")) {}
  bool over(Clock::time_point now) const { return now >= end; }
  bool has(Clock::time_point now) const { return now >= begin && now < end; }

  Clock::time_point begin;
  Clock::time_point end;
};

/// The work under the lock. Counts an overlap if two threads do it together.
///
/// Thread-safety: enter() and leave() from any thread; the rest while no thread is between them.
class Exclusive {
 public:
  /// Returns how many threads have entered before.
  std::size_t enter(const Window* window = nullptr);
  void leave() { inside_.fetch_sub(1); }

  /// Returns the times between successive grants in the window.
  const Samples& intervals() const { return intervals_; }
  Clock::time_point last() const { return last_; }
  double seconds() const { return intervals_.count() == 0 ? 0 : in_seconds(last_ - first_); }
  std::size_t grants() const { return grants_.load(); }
  std::size_t overlaps() const { return overlaps_.load(); }

 private:
  std::atomic<int> inside_{0};
  std::atomic<std::size_t> grants_{0};
  std::atomic<std::size_t> overlaps_{0};
  // Changed only by a thread that is alone inside:
  bool counting_ = false;
  Clock::time_point first_;
  Clock::time_point last_;
  Samples intervals_;
};

}  // namespace zklock::bench
