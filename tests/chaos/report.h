// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "chaos/collector.h"

namespace zklock::chaos {

// The result of a run.
struct Report {
  std::uint64_t seed = 0;
  std::string servers;  // their configuration
  std::int64_t seconds = 0;
  std::uint64_t grants = 0;
  std::uint64_t local_grants = 0;  // local hand-offs, without a request
  std::map<std::string, std::uint64_t> grants_by_lock;
  std::uint64_t losses = 0;
  Refusals refusals;
  std::map<std::string, std::uint64_t> faults;  // that took place, by class
  std::uint64_t faults_without_effect = 0;
  std::map<std::string, std::uint64_t> tally;
  std::vector<std::string> violations;
  std::string kept;  // path of the history, after a violation

  std::uint64_t faults_in_all() const;
  std::uint64_t fault_classes() const;
};

void print_table(std::ostream& out, const Report& report);
void print_json(std::ostream& out, const Report& report);

}  // namespace zklock::chaos
