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

// The figures of one rest. Descriptors and threads are compared with those of the first rest.
struct Sample {
  std::string fault;  // before this rest
  double seconds = 0;
  std::uint64_t cycles = 0;  // so far
  ProcessFigures process;
  ServerFigures server;
  std::size_t clients = 0;  // that live
};

// The demands on a whole run.
struct Demands {
  double cycles_per_minute = 200'000.0 / 30;
  double slope_kb = 1024;    // per 100,000 cycles, over the second half
  bool of_memory = true;     // off with a sanitizer, which retains freed memory
  bool of_speed = true;      // off with a sanitizer
  std::uint64_t cycles = 0;  // at least
};

struct Bound {
  std::string name;
  std::string found;
  std::string demanded;
  bool kept = false;
};

// The samples and counts of a run.
//
// Thread-safety: none.
class Record {
 public:
  void add(Sample sample) { samples_.push_back(std::move(sample)); }
  void add(const Tally& tally) { tally_.add(tally); }
  std::uint64_t cycles() const { return tally_.cycles; }

  // Returns the growth of a figure in kB per 100,000 cycles. Returns nullopt for less than 10,000
  // cycles.
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
