// SPDX-License-Identifier: Apache-2.0
// Data of a znode by any writer. Parsed data are printable and parse to equal values when they are
// written again. No value can forge a line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/utf8.h"
#include "zklock/core/znode_data.h"

namespace zklock::fuzz {
namespace {

using namespace core;

constexpr std::size_t kLongestNode = 900;

std::string utf8_of(char32_t code) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0U | code >> 6U), byte(0x80U | (code & 0x3FU))};
  if (code < 0x10000) {
    return {byte(0xE0U | code >> 12U), byte(0x80U | (code >> 6U & 0x3FU)),
            byte(0x80U | (code & 0x3FU))};
  }
  return {byte(0xF0U | code >> 18U), byte(0x80U | (code >> 12U & 0x3FU)),
          byte(0x80U | (code >> 6U & 0x3FU)), byte(0x80U | (code & 0x3FU))};
}

/// A character of the input's code point is parsed correctly, regardless of the bytes behind it.
void check_character(std::string_view bytes) {
  char32_t code = 0;
  for (const char c : bytes.substr(0, 3)) code = code << 8U | static_cast<unsigned char>(c);
  const bool exists = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  if (code > 0x1FFFFF) return;
  const std::string text = utf8_of(code) + std::string(bytes.substr(0, 3));
  const auto read = first_character(text);
  require(read.valid == exists, "every character, and nothing else");
  require(!exists || (read.code == code && read.length == utf8_of(code).size()), "that character");
}

void check_printable(std::string_view text, std::size_t most) {
  const std::string shown = printable(text, most);
  require(shown.size() <= most, "cut");
  require(printable(shown, most) == shown, "fit to be shown already");
  for (std::string_view left = shown; !left.empty();) {
    const auto character = first_character(left);
    require(character.valid && !is_control(character.code), "fit to be shown");
    require(left.starts_with(utf8_of(character.code)), "there is one way to write a character");
    left.remove_prefix(character.length);
  }
}

void check_values(const ZnodeData& data) {
  for (const auto* value :
       {&data.attempt, &data.owner, &data.host, &data.thread, &data.application, &data.label}) {
    require(printable(*value, kMaxValueBytes) == *value, "what is read is fit to be shown");
  }
  require(printable(data.note, kMaxNoteBytes) == data.note, "what is read is fit to be shown");
}

void check_same(const ZnodeData& a, const ZnodeData& b) {
  require(a.attempt == b.attempt && a.owner == b.owner && a.host == b.host, "the same");
  require(a.thread == b.thread && a.application == b.application && a.pid == b.pid, "the same");
  require(a.announces == b.announces && a.token == b.token && a.since_ms == b.since_ms, "the same");
  require(a.label == b.label && a.note == b.note && a.bound == b.bound, "the same");
  require(a.is_candidate == b.is_candidate, "the same");
}

void check_read(std::string_view text) {
  const auto data = ZnodeData::parse(text);
  const std::string_view line = text.substr(0, text.find('\n'));
  require(data.has_value() == (line == "zklock 1"), "by its first line alone");
  const FencingToken made{7};
  require(queue_zxid(data, made) == (data && data->token > 0 ? FencingToken{data->token} : made),
          "a znode that replaced no other has its own czxid");
  if (!data) return;
  check_values(*data);
  const std::string written = data->encode();
  require(written.size() <= kLongestNode, "a node is small");
  const auto again = ZnodeData::parse(written);
  require(again.has_value(), "zklock's own");
  check_same(*again, *data);
  require(again->encode() == written, "written the same");
}

/// Writes fields that contain arbitrary bytes, and reads them again.
void check_written(std::string_view bytes) {
  Choices choices(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ZnodeData data;
  data.announces = choices.one_in(2);
  data.bound = choices.one_in(2);
  data.is_candidate = choices.one_in(2);
  data.pid = static_cast<std::int64_t>(choices.byte()) - 8;
  data.token = static_cast<std::int64_t>(choices.byte()) << choices.below(56);
  for (auto* value : {&data.attempt, &data.owner, &data.host, &data.thread, &data.label}) {
    *value = choices.text();
  }
  data.application = choices.text();
  data.note = choices.rest();
  const std::string written = data.encode();
  require(written.size() <= kLongestNode, "a node is small");
  const auto read = ZnodeData::parse(written);
  require(read.has_value(), "zklock's own");
  for (auto* value :
       {&data.attempt, &data.owner, &data.host, &data.thread, &data.application, &data.label}) {
    *value = printable(*value, kMaxValueBytes);
  }
  data.note = printable(data.note, kMaxNoteBytes);
  check_same(*read, data);
}

void check_proclaimed(std::string_view text) {
  const auto said = Proclamation::parse(text);
  if (said) {
    require(said->leader.zxid > 0 && text.ends_with(said->value), "leader and value are parsed");
    const auto again = Proclamation::parse(said->encode());
    require(again && again->leader == said->leader && again->value == said->value, "read again");
    require(!ZnodeData::parse(text), "of one kind");
  }
  const Proclamation any{{static_cast<std::int64_t>(text.size()) + 1}, std::string(text)};
  const auto read = Proclamation::parse(any.encode());
  require(read && read->leader == any.leader && read->value == any.value, "the value as it is");
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = zklock::fuzz::as_text(data, size);
  zklock::fuzz::check_read(text);
  zklock::fuzz::check_written(text);
  zklock::fuzz::check_character(text);
  zklock::fuzz::check_printable(text, size % 80);
  zklock::fuzz::check_proclaimed(text);
  return 0;
}
