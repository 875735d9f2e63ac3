// SPDX-License-Identifier: Apache-2.0
#include "budget/stack.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>

#include <cxxabi.h>

extern "C" const char __executable_start;

namespace zklock::testing {
namespace {

/// Returns the lines that a program prints.
std::vector<std::string> output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             &::pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::vector<std::string> lines;
  std::array<char, 8192> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    lines.emplace_back(line.data());
    if (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  return lines;
}

/// Returns whether a function with this mangled name is a member of namespace zklock, or a lambda
/// in one.
bool is_of_zklock(const std::string& mangled) {
  static const std::regex kOwn("^_?_Z+NK?6zklock(?!7testing).*");
  return std::regex_match(mangled, kOwn);
}

std::string demangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : mangled;
}

}  // namespace

std::vector<std::vector<std::string>> zklock_frames(const std::vector<Meter::Stack>& stacks) {
  // addr2line is started once: it reads the whole executable first.
  std::string command =
      "addr2line -f -e '" + std::filesystem::read_symlink("/proc/self/exe").string() + "'";
  const auto base = reinterpret_cast<std::uintptr_t>(&__executable_start);
  std::map<const void*, std::size_t> functions;  // index in the output, by return address
  for (const auto& stack : stacks) {
    for (std::size_t i = 0; i < stack.size; ++i) {
      if (!functions.emplace(stack.frames[i], functions.size()).second) continue;
      // A return address is behind the call. Addresses in a library print no function.
      const auto address = reinterpret_cast<std::uintptr_t>(stack.frames[i]) - 1 - base;
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), " 0x%llx", static_cast<unsigned long long>(address));
      command += text.data();
    }
  }
  const std::vector<std::string> lines = output_of(command);
  if (lines.size() != 2 * functions.size()) throw std::runtime_error("failed: " + command);
  std::vector<std::vector<std::string>> all;
  for (const auto& stack : stacks) {
    auto& frames = all.emplace_back();
    for (std::size_t i = stack.size; i-- > 0;) {
      const std::size_t line = 2 * functions.at(stack.frames[i]);
      if (!is_of_zklock(lines[line])) continue;
      const std::string& place = lines[line + 1];
      frames.push_back(demangled(lines[line]) + "  " + place.substr(place.rfind('/') + 1));
    }
  }
  return all;
}

std::string numbered(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += std::to_string(i + 1) + ". " + lines[i] + "\n";
  }
  return text;
}

}  // namespace zklock::testing
