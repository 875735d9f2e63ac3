// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/znode_data.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "zklock/core/utf8.h"

namespace zklock::core {
namespace {

constexpr std::string_view kFirstLine = "zklock 1";
constexpr std::string_view kCandidate = "candidate";  ///< value of `role`; others are ignored

/// Size of the keys of a new znode without label and note, and of its process id.
constexpr std::size_t kUsualKeyBytes = 88;
constexpr std::size_t kTextKeyBytes = 13;  ///< size of the keys `label` and `note`
constexpr std::size_t kRoleBytes = 15;     ///< size of the line `role`

/// Returns whether the text is printable ASCII. Most texts are; they need no further check.
bool is_plain(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

void append_printable(std::string& result, std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes && is_plain(text)) {
    result += text;
    return;
  }
  const std::size_t end = result.size() + max_bytes;
  while (!text.empty()) {
    const auto character = first_character(text);
    const bool shown =
        character.valid && !is_control(character.code) && !is_line_end_or_direction(character.code);
    const auto bytes = shown ? text.substr(0, character.length) : std::string_view("?");
    if (result.size() + bytes.size() > end) return;
    result += bytes;
    text.remove_prefix(character.length);
  }
}

void append(std::string& text, std::string_view key, std::string_view value,
            std::size_t max_bytes = kMaxValueBytes) {
  if (value.empty()) return;
  text.append(key) += '=';
  append_printable(text, value, max_bytes);
  text += '\n';
}

/// Cuts the first line off `text`.
std::string_view take_line(std::string_view& text) noexcept {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::int64_t parse_number(std::string_view text) noexcept {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end ? value : 0;
}

void assign(ZnodeData& data, std::string_view key, std::string_view value) {
  const auto for_people = [&] { return printable(value, kMaxValueBytes); };
  if (key == "attempt") {
    data.attempt = for_people();
  } else if (key == "owner") {
    data.owner = for_people();
  } else if (key == "host") {
    data.host = for_people();
  } else if (key == "thread") {
    data.thread = for_people();
  } else if (key == "application") {
    data.application = for_people();
  } else if (key == "label") {
    data.label = for_people();
  } else if (key == "note") {
    data.note = printable(value, kMaxNoteBytes);
  } else if (key == "pid") {
    data.pid = parse_number(value);
  } else if (key == "announces") {
    data.announces = value == "1";
  } else if (key == "bound") {
    data.bound = value == "1";
  } else if (key == "role") {
    data.is_candidate = value == kCandidate;
  } else if (key == "token") {
    data.token = parse_number(value);
  } else if (key == "since") {
    data.since_ms = parse_number(value);
  }
}

}  // namespace

std::string ZnodeData::encode() const {
  std::string text;
  std::size_t size = kUsualKeyBytes;  // small: tens of thousands may wait to be sent
  for (const auto* value : {&attempt, &owner, &host, &thread, &application, &label}) {
    size += std::min(value->size(), kMaxValueBytes);
  }
  if (!label.empty() || !note.empty()) size += kTextKeyBytes + std::min(note.size(), kMaxNoteBytes);
  if (is_candidate) size += kRoleBytes;
  text.reserve(size);
  text.append(kFirstLine) += '\n';
  append(text, "attempt", attempt);
  append(text, "owner", owner);
  append(text, "host", host);
  if (pid != 0) append(text, "pid", std::to_string(pid));
  append(text, "thread", thread);
  append(text, "application", application);
  append(text, "label", label);
  append(text, "note", note, kMaxNoteBytes);
  if (announces) append(text, "announces", "1");
  if (bound) append(text, "bound", "1");
  if (is_candidate) append(text, "role", kCandidate);
  if (token != 0) append(text, "token", std::to_string(token));
  if (since_ms != 0) append(text, "since", std::to_string(since_ms));
  return text;
}

std::optional<ZnodeData> ZnodeData::parse(std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  if (take_line(text) != kFirstLine) return std::nullopt;
  ZnodeData data;
  while (!text.empty()) {
    const auto line = take_line(text);
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    assign(data, line.substr(0, equals), line.substr(equals + 1));
  }
  return data;
}

Zxid queue_zxid(const std::optional<ZnodeData>& data, Zxid made) noexcept {
  return data && data->token > 0 ? Zxid{data->token} : made;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string result;
  append_printable(result, text, max_bytes);
  return result;
}

}  // namespace zklock::core
