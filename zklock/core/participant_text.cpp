// SPDX-License-Identifier: Apache-2.0
// The text of a contender. A program can make a Participant of any texts, so they are escaped here.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "zklock/core/quoted.h"
#include "zklock/core/znode_data.h"
#include "zklock/participant.h"

namespace zklock {

namespace {

constexpr std::size_t kMaxNameBytes = 128;  ///< of a znode's name

std::string in_hexadecimal(std::int64_t number) {
  char digits[16];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), static_cast<std::uint64_t>(number), 16)
          .ptr;
  return "0x" + std::string(std::begin(digits), end);
}

/// Returns host and process, or the znode if its data do not name them.
std::string place_of(const Participant& participant) {
  std::string text = core::printable(participant.host, core::kMaxValueBytes);
  if (participant.pid != 0) {
    if (!text.empty()) text += ' ';
    text += "pid " + std::to_string(participant.pid);
  }
  if (!text.empty()) return text;
  text = "znode " + core::printable(participant.node, kMaxNameBytes);
  if (participant.session_id != 0) text += " of session " + in_hexadecimal(participant.session_id);
  return text;
}

/// Returns application, label and note; empty if there are none.
std::string purpose_of(const Participant& participant) {
  std::string text = core::printable(participant.application, core::kMaxValueBytes);
  const std::string label = core::printable(participant.label, core::kMaxValueBytes);
  if (!text.empty() && !label.empty()) text += '/';
  text += label;
  if (participant.note.empty()) return text;
  if (!text.empty()) text += ", ";
  return text + core::quoted(core::printable(participant.note, core::kMaxNoteBytes));
}

}  // namespace

std::string to_string(const Participant& participant) {
  const std::string purpose = purpose_of(participant);
  if (purpose.empty()) return place_of(participant);
  return place_of(participant) + " (" + purpose + ")";
}

}  // namespace zklock
