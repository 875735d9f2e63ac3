// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/duration.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

// "ms" is before "m", because the first one that begins the text is taken.
constexpr std::array kUnits{Unit{"d", std::chrono::hours(24)}, Unit{"h", std::chrono::hours(1)},
                            Unit{"ms", std::chrono::milliseconds(1)},
                            Unit{"m", std::chrono::minutes(1)}, Unit{"s", std::chrono::seconds(1)}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Failure(ExitCode::kUsage, '"' + display_text(text) + '"' + why);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Removes the number that begins `rest`, and returns it. Returns -1 if there is none.
double take_number(std::string_view& rest) {
  double number = -1;
  if (rest.empty() || !is_digit(rest.front())) return -1;
  const auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !is_digit(*(end - 1))) return -1;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

std::string two_units(std::int64_t larger, const char* larger_name, std::int64_t smaller,
                      const char* smaller_name) {
  std::string text = std::to_string(larger) + ' ' + larger_name;
  if (smaller > 0) text += ' ' + std::to_string(smaller) + ' ' + smaller_name;
  return text;
}

}  // namespace

Duration parse_duration(std::string_view text) {
  std::string_view rest = text;
  Duration last = Duration::max();
  double sum = 0;
  do {
    const double number = take_number(rest);
    if (number < 0) refuse(text, " is not a duration: write for example 30s or 1h30m");
    const Unit* unit = nullptr;
    for (const Unit& each : kUnits) {
      if (rest.starts_with(each.name)) {
        unit = &each;
        break;
      }
    }
    if (unit == nullptr) {
      const std::string all = display_text(text);
      refuse(text, rest.empty() ? " has no unit: write " + all + "s or " + all + "m"
                                : " has an unknown unit: use ms, s, m, h or d");
    }
    if (unit->length >= last) refuse(text, " has its units in the wrong order");
    last = unit->length;
    rest.remove_prefix(unit->name.size());
    sum += number * static_cast<double>(unit->length.count());
  } while (!rest.empty());
  if (sum > static_cast<double>(kLongestDuration.count()))
    refuse(text, " is longer than 10000 days");
  return Duration(std::llround(sum));
}

std::string text_of(Duration duration) {
  const auto ms = duration.count() / 1'000'000;
  if (ms <= 0) return "0 ms";
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const auto s = ms / 1'000;
  const auto tenths = ms % 1'000 / 100;
  if (s < 60) {
    return std::to_string(s) + (tenths > 0 ? '.' + std::to_string(tenths) : std::string()) + " s";
  }
  if (s < 3'600) return two_units(s / 60, "m", s % 60, "s");
  if (s < 86'400) return two_units(s / 3'600, "h", s % 3'600 / 60, "m");
  return two_units(s / 86'400, "d", s % 86'400 / 3'600, "h");
}

}  // namespace zklock::cli
