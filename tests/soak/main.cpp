// SPDX-License-Identifier: Apache-2.0
//   zklock_soak [--minutes N] [--cycles N] [--threads N] [--seed N] [--json FILE]
//
// Locks and unlocks in every way, with faults, and looks for leaks at every rest. See README.md.
// Exit status 1: a bound is broken. 2: wrong arguments.
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "soak/record.h"
#include "soak/soak.h"
#include "zklock/core/sanitizers.h"

namespace zklock::soak {
namespace {

struct Arguments {
  Plan plan;
  std::string json;
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return std::nullopt;
    const std::string& value = words[i + 1];
    if (words[i] == "--json") {
      result.json = value;
      continue;
    }
    if (value.empty() || value.size() > 8 ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      return std::nullopt;
    }
    const unsigned long number = std::stoul(value);
    if (words[i] == "--minutes") {
      result.plan.time = std::chrono::minutes(number);
    } else if (words[i] == "--cycles") {
      result.plan.cycles = number;
    } else if (words[i] == "--threads" && number > 0) {
      result.plan.threads = number;
    } else if (words[i] == "--seed") {
      result.plan.seed = static_cast<unsigned>(number);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

int run(const Arguments& arguments) {
  Soak soak(arguments.plan);
  soak.run();
  Demands demands;
  demands.cycles = arguments.plan.cycles;
#if ZKLOCK_THREAD_SANITIZER || ZKLOCK_ADDRESS_SANITIZER
  demands.of_memory = false;
  demands.of_speed = false;
#endif
  const auto bounds = soak.record().judge(demands);
  soak.record().print_summary(std::cout, bounds);
  if (!arguments.json.empty()) {
    std::ofstream file(arguments.json);
    soak.record().write_json(file, bounds);
    if (!file.flush()) {
      std::cerr << "cannot write " << arguments.json << '\n';
      return 1;
    }
  }
  for (const Bound& bound : bounds) {
    if (!bound.kept) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace zklock::soak

int main(int argc, char** argv) {
  const auto arguments = zklock::soak::parse({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << "usage: zklock_soak [--minutes N] [--cycles N] [--threads N] [--seed N]"
                 " [--json FILE]\n";
    return 2;
  }
  try {
    return zklock::soak::run(*arguments);
  } catch (const std::exception& error) {
    std::cout << "BROKEN: " << error.what() << std::endl;
    return 1;
  }
}
