// SPDX-License-Identifier: Apache-2.0
// The text format of Prometheus, version 0.0.4.
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "zklock/core/znode_data.h"
#include "zklock/metrics.h"

namespace zklock {

namespace {

std::string_view name_of(MetricFamily::Type type) {
  switch (type) {
    case MetricFamily::Type::counter: return "counter";
    case MetricFamily::Type::gauge: return "gauge";
    case MetricFamily::Type::histogram: return "histogram";
  }
  return "untyped";
}

/// Returns a short text that is read as the same number. A whole number has no exponent.
std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  constexpr double kMostExact = 1e15;
  if (std::abs(value) < kMostExact && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string seconds(std::chrono::microseconds time) {
  return text_of(std::chrono::duration<double>(time).count());
}

/// Returns `text` with a backslash before each of the characters `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : core::printable(text, text.size())) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

using Sample = MetricFamily::Sample;

/// Appends a line. `bound`: the label `le`, or an empty text.
void append(std::string& text, std::string_view name, const Sample& sample, std::string_view bound,
            std::string_view value) {
  text += name;
  char separator = '{';
  const auto label = [&](std::string_view key, std::string_view content) {
    text += separator;
    text.append(key).append("=\"").append(escaped(content, "\\\"")).append("\"");
    separator = ',';
  };
  for (const auto& [key, content] : sample.labels) label(key, content);
  if (!bound.empty()) label("le", bound);
  if (separator == ',') text += '}';
  text.append(" ").append(value).append("\n");
}

void append_histogram(std::string& text, const std::string& name, const Sample& sample) {
  const DurationHistogram& histogram = *sample.histogram;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    so_far += histogram.counts.at(i);
    const bool is_last = i == DurationHistogram::kBounds.size();
    append(text, name + "_bucket", sample,
           is_last ? "+Inf" : seconds(DurationHistogram::kBounds.at(i)), std::to_string(so_far));
  }
  append(text, name + "_sum", sample, {}, seconds(histogram.sum));
  append(text, name + "_count", sample, {}, std::to_string(so_far));
}

}  // namespace

std::string metrics_text(std::span<const MetricFamily> families) {
  std::string text;
  for (const MetricFamily& family : families) {
    text.append("# HELP ").append(family.name).append(" ");
    text.append(escaped(family.help, "\\")).append("\n");
    text.append("# TYPE ").append(family.name).append(" ");
    text.append(name_of(family.type)).append("\n");
    for (const Sample& sample : family.samples) {
      if (sample.histogram) {
        append_histogram(text, family.name, sample);
      } else {
        append(text, family.name, sample, {}, text_of(sample.value));
      }
    }
  }
  return text;
}

}  // namespace zklock
