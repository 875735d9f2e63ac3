// SPDX-License-Identifier: Apache-2.0
//   zklock_bench zklock|floor HOSTS
// Reads one command per line, and answers each with a line of JSON: see README.md.
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "bench/contestant.h"
#include "bench/measure.h"

namespace zklock::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

class Worker {
 public:
  Worker(std::unique_ptr<Contestant> contestant, std::string hosts)
      : contestant_(std::move(contestant)), hosts_(std::move(hosts)) {}

  std::string answer(const std::string& line) {
    const auto end = line.find(' ');
    const std::string command = line.substr(0, end);
    if (command == "hello") return "{\"version\": " + quoted(contestant_->version()) + "}";
    if (command == "prepare") return prepare(Params(line.substr(command.size())));
    if (command == "run" && measure_) return measure_->run().json();
    if (command == "finish") {
      measure_.reset();
      return "{}";
    }
    return "{\"error\": " + quoted("what is " + line + "?") + "}";
  }

 private:
  std::string prepare(const Params& params) {
    const std::string absence = contestant_->absence(params);
    if (!absence.empty()) return "{\"absent\": " + quoted(absence) + "}";
    measure_ = make_measure(params, *contestant_, hosts_);
    return "{}";
  }

  const std::unique_ptr<Contestant> contestant_;
  const std::string hosts_;
  std::unique_ptr<Measure> measure_;
};

int serve(std::string_view name, const std::string& hosts) {
  Worker worker(name == "floor" ? make_floor(hosts) : make_zklock(hosts), hosts);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = worker.answer(line);
    } catch (const std::exception& e) {
      answer = "{\"error\": " + quoted(e.what()) + "}";
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace zklock::bench

int main(int argc, char** argv) {
  const std::string_view name = argc == 3 ? argv[1] : "";
  if (name != "zklock" && name != "floor") {
    std::cerr << "usage: zklock_bench zklock|floor HOSTS\n";
    return 2;
  }
  return zklock::bench::serve(name, argv[2]);
}
