// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/wishes.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace zklock::simulator {

namespace {

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, number);
  return error == std::errc() && end == all;
}

bool read_value(const std::string& word, const std::string& value, Wishes& wishes) {
  if (word == "--seeds") return read_number(value, wishes.seeds);
  if (word == "--from") return read_number(value, wishes.from);
  if (word == "--minutes") {
    return read_number(value, wishes.minutes) && wishes.minutes >= 0 &&
           wishes.minutes <= most_minutes;
  }
  if (word == "--threads") {
    return read_number(value, wishes.workers) && wishes.workers >= 1 &&
           wishes.workers <= most_workers;
  }
  if (word == "--seed") return read_number(value, wishes.seed.emplace());
  if (word == "--plan") {
    wishes.plan = value;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Wishes> parse_wishes(const std::vector<std::string>& words) {
  Wishes wishes;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--no-shrink") {
      wishes.shrinks = false;
    } else if (word == "--keep-going") {
      wishes.keep_going = true;
    } else if (++i == words.size() || !read_value(word, words[i], wishes)) {
      return std::nullopt;
    }
  }
  return wishes;
}

}  // namespace zklock::simulator
