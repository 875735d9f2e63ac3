// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "soak/crew.h"
#include "soak/figures.h"

namespace zklock::soak {

// What was found at one rest. The first is the measure of the descriptors and threads of the others.
struct Sample {
  std::string trouble;  // before it
  double seconds = 0;
  std::uint64_t cycles = 0;  // so far
  ProcessFigures process;
  ServerFigures server;
  std::size_t clients = 0;  // that live
};

// What is demanded of a whole run.
struct Demands {
  double cycles_per_minute = 200'000.0 / 30;
  double slope_kb = 1024;    // per 100,000 cycles, over the second half
  bool of_memory = true;     // not with a sanitizer, which keeps what was freed
  bool of_speed = true;      // the same
  std::uint64_t cycles = 0;  // at least
};

struct Bound {
  std::string name;
  std::string found;
  std::string demanded;
  bool kept = false;
};

// A run, as it was seen.
//
// Thread-safety: none.
class Record {
 public:
  void add(Sample sample) { samples_.push_back(std::move(sample)); }
  void add(const Tally& tally) { tally_.add(tally); }
  std::uint64_t cycles() const { return tally_.cycles; }

  // Of resident memory and of the heap: kB per 100,000 cycles. Nothing over less than 10,000.
  std::optional<double> slope_of(double ProcessFigures::*figure) const;
  std::vector<Bound> judge(const Demands& demands) const;

  static void print_head(std::ostream& out);
  static void print(std::ostream& out, const Sample& sample);
  void print_summary(std::ostream& out, const std::vector<Bound>& bounds) const;
  void write_json(std::ostream& out, const std::vector<Bound>& bounds) const;

 private:
  std::vector<Sample> samples_;
  Tally tally_;
};

}  // namespace zklock::soak
