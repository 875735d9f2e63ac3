// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/log_line.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zklock::core {

namespace {

std::string quoted(std::string_view value) {
  if (value.find_first_of(" \"=;") == std::string_view::npos) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string in_seconds(Duration duration) {
  const std::int64_t ms = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(), 0);
  const std::string fraction = std::to_string(ms % 1000);
  return std::to_string(ms / 1000) + '.' + std::string(3 - fraction.size(), '0') + fraction + 's';
}

/// The fields of a line, while they are appended.
class Fields {
 public:
  void add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    text_ += text_.empty() ? "; " : " ";
    text_ += key;
    text_ += '=';
    text_ += quoted(value);
  }
  void add(std::string_view key, std::optional<Duration> time) {
    if (time) add(key, in_seconds(*time));
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string log_line(std::string_view operation, std::string_view path, std::string_view sentence,
                     const LogFields& fields) {
  std::string text(sentence);
  for (auto at = text.find("; "); at != std::string::npos; at = text.find("; ", at)) text[at] = ',';
  Fields all;
  all.add("owner", fields.owner);
  if (fields.token != FencingToken{}) all.add("token", to_string(fields.token));
  all.add("node", fields.node);
  all.add("held", fields.held);
  all.add("waited", fields.waited);
  all.add("label", fields.label);
  all.add("note", fields.note);
  return std::string(operation) + ' ' + quoted(path) + ": " + text + all.text();
}

}  // namespace zklock::core
