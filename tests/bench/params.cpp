// SPDX-License-Identifier: Apache-2.0
#include "bench/params.h"

#include <charconv>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace zklock::bench {

namespace {

constexpr double kMostSeconds = 1e9;

template <class Number>
Number number_in(const std::string& text) {
  Number number{};
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, number);
  if (error != std::errc() || end != all) throw std::invalid_argument("no number: " + text);
  return number;
}

}  // namespace

Params::Params(const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not name=value: " + word);
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

Params Params::with(const std::string& name, const std::string& value) const {
  Params changed = *this;
  changed.values_[name] = value;
  return changed;
}

const std::string& Params::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::invalid_argument("missing: " + name);
  return found->second;
}

std::size_t Params::number(const std::string& name) const {
  return number_in<std::size_t>(text(name));
}

Clock::duration Params::seconds(const std::string& name) const {
  const auto seconds = number_in<double>(text(name));
  if (!(seconds >= 0 && seconds <= kMostSeconds)) {
    throw std::invalid_argument("out of range: " + text(name));
  }
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace zklock::bench
