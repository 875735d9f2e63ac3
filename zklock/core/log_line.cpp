// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/log_line.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "zklock/core/cause_texts.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

constexpr std::size_t kMinPath = 64;  ///< smallest room for a path, in bytes

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
    text_ += log_value(value);
  }
  void add(std::string_view key, std::optional<Duration> time) {
    if (time) add(key, in_seconds(*time));
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string log_value(std::string_view value) {
  if (value.find_first_of(" \"=;") == std::string_view::npos) return std::string(value);
  return quoted(value);
}

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
  text = ": " + text + all.text();
  const std::size_t used = operation.size() + 1 + text.size();
  const std::size_t room = std::max(kMaxLogLine - std::min(used, kMaxLogLine), kMinPath);
  std::string shown = log_value(path);
  // Quotes need two bytes, and each byte of the path can need a backslash.
  if (shown.size() > room) shown = log_value(printable(path, (room - 2) / 2));
  return std::string(operation) + ' ' + shown + text;
}

}  // namespace zklock::core
