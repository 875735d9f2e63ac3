// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/conductor.h"

namespace {

constexpr std::string_view kUsage =
    "usage: zklock_chaos --seconds N --seed S [--json FILE] [--only CLASS] [--keep DIR]\n"
    "Torments clients on three real servers, and checks what they were granted. The seed says "
    "which\n"
    "faults come in which order, and what the clients choose; when each happens is the machine's.\n"
    "With --only, all faults are of one class, of those that are done to clients or to servers.\n"
    "Status 0: nothing found; 1: something; 2: usage; 3: the servers did not start.\n";

struct Arguments {
  zklock::chaos::RunPlan plan;
  std::string json;
};

bool parse(const std::vector<std::string>& words, Arguments& arguments) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return false;
    const std::string& value = words[i + 1];
    if (words[i] == "--seconds") {
      arguments.plan.length = std::chrono::seconds(std::atoi(value.c_str()));
    } else if (words[i] == "--seed") {
      arguments.plan.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (words[i] == "--only") {
      arguments.plan.only = value;
    } else if (words[i] == "--json") {
      arguments.json = value;
    } else if (words[i] == "--keep") {
      arguments.plan.keep_in = value;
    } else {
      return false;
    }
  }
  const auto& only = arguments.plan.only;
  auto classes = zklock::chaos::FaultPlan::of_clients();
  for (const auto fault : zklock::chaos::FaultPlan::of_servers()) classes.push_back(fault);
  const bool known = std::any_of(classes.begin(), classes.end(), [&](zklock::chaos::Fault fault) {
    return name_of(fault) == only;
  });
  return arguments.plan.length.count() > 0 && (only.empty() || known);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  arguments.plan.client_program = ZKLOCK_CHAOS_CLIENT;
  arguments.plan.keep_in = std::filesystem::current_path();
  if (!parse({argv + 1, argv + argc}, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    zklock::chaos::Conductor conductor(arguments.plan);
    const zklock::chaos::Report report = conductor.run();
    print_table(std::cout, report);
    if (!arguments.json.empty()) {
      std::ofstream out(arguments.json);
      print_json(out, report);
    }
    return report.violations.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "chaos: " << error.what() << '\n';
    return 3;
  }
}
