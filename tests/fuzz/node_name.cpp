// SPDX-License-Identifier: Apache-2.0
// The name of one child. A parsed name has the meaning of its text, and a written name parses
// again. No name is of two kinds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"

namespace zklock::fuzz {
namespace {

using namespace core;

void check_kind(const ParsedZnodeName& it) {
  switch (it.access) {
    case Access::exclusive:
    case Access::shared:
      require(it.permits == 0 && it.named_total == 0 && it.weight == 0 && it.ageing == 0,
              "no numbers");
      break;
    case Access::permits:
      require(it.permits > 0 && it.named_total >= 0 && it.weight == 0 && it.ageing == 0,
              "permits only");
      require(it.prefix == permits_prefix(it.permits, it.named_total),
              "a prefix of permits is written so");
      break;
    case Access::weighted:
      require(it.weight > 0 && it.weight <= kMostWeight && it.ageing >= 0 && it.permits == 0 &&
                  it.named_total == 0,
              "a weight only");
      require(it.prefix == weight_prefix(it.weight, it.ageing), "one of a weight is written so");
      break;
  }
}

void check_contender_name(std::string_view name) {
  const auto it = parse_znode_name(name);
  const auto node = ZnodeName::parse(name);
  require(it.has_value() == node.has_value(), "both refuse the same", name);
  if (!it) return;
  require(it->name == name && node->text == name, "it is called as it is");
  require(node->sequence == it->sequence, "of one number");
  require(name.starts_with(it->prefix) && !it->prefix.empty(), "the name begins with its prefix");
  require(ZnodeName::make(it->prefix, it->sequence).text == name, "as ZooKeeper prints it", name);
  require(node->has_prefix(it->prefix), "it has its prefix");
  require(!it->before(*it), "no name is ahead of itself");
  check_kind(*it);

  const auto reader = node->as_reader();
  require(reader.has_value() == (it->prefix == kWritePrefix),
          "zklock's writers read on, no others");
  if (!reader) return;
  const auto reads = parse_znode_name(reader->text);
  require(reads && reads->access == Access::shared && reads->sequence == it->sequence,
          "a reader after a downgrade keeps its sequence number");
}

void check_marker(std::string_view name) {
  const auto marker = DelayMarker::parse(name);
  if (!marker) return;
  require(marker->name == name && marker->owner_sequence.value >= 0, "a marker is called as it is");
  require(marker->length.count() > 0 && marker->length <= kLongestLockDelay, "a length in bounds");
  require(!parse_znode_name(name), "a marker is no contender");
  const auto again = DelayMarker::parse(marker->name);
  require(
      again && again->length == marker->length && again->owner_sequence == marker->owner_sequence,
      "read again");
}

void check_hold_marker(std::string_view name) {
  const auto marker = HoldMarker::parse(name);
  require(marker.has_value() == (kind_of(name) == ChildKind::hold_marker), "no other kind", name);
  if (!marker) return;
  require(marker->name() == name, "a hold marker is called as it is");
  require(marker->since_ms >= 0 && marker->owner_sequence.value >= 0, "numbers in bounds");
}

void check_count(std::string_view text) {
  const auto number = parse_permit_count(text);
  const bool digits =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  std::int64_t value = 0;
  for (const char c : digits ? text : std::string_view()) {
    value = std::min<std::int64_t>(value * 10 + (c - '0'), std::int64_t{1} << 40);
  }
  const bool is_count = digits && value <= std::numeric_limits<std::int32_t>::max();
  require(number.has_value() == is_count, "a decimal number and nothing else", text);
  require(!number || *number == value, "that number", text);
  if (number) return;
  require(is_fit_to_be_shown(bad_permit_count(text)), "what is wrong is fit to be shown");
}

std::string prefix_of(unsigned kind, std::int32_t count, std::int32_t other) {
  switch (kind) {
    case 0: return std::string(kLockPrefix);
    case 1: return std::string(kWritePrefix);
    case 2: return std::string(kReadPrefix);
    case 3: return permits_prefix(std::max(count, 1), other);
    default: return weight_prefix(count % kMostWeight + 1, other);
  }
}

/// Writes a name with numbers of the input, and reads it again.
void check_written(std::string_view bytes) {
  std::uint64_t said = 0;
  for (const char c : bytes.substr(0, 8)) said = said << 8U | static_cast<unsigned char>(c);
  const Sequence number{static_cast<std::int32_t>(said)};
  const auto count = static_cast<std::int32_t>(said >> 32U & 0x7fffffffU);
  const auto other = static_cast<std::int32_t>(said >> 16U & 0x7fffffffU);
  const std::string prefix = prefix_of(static_cast<unsigned>(said % 5), count, other);
  const auto made = ZnodeName::make(prefix, number);
  const auto read = parse_znode_name(made.text);
  require(read && read->sequence == number && read->prefix == prefix, "read as it was written",
          made.text);
  require(!parse_znode_name(proclamation_node(number)), "what is proclaimed does not contend");
  require(!parse_znode_name(release_request_node(number)), "a release request is no contender");
  const std::chrono::milliseconds length(count);
  const FencingToken token{static_cast<std::int64_t>(said)};
  const auto marker = DelayMarker::make(length, token, number);
  const HoldMarker held{length.count(), number};
  require(HoldMarker::parse(held.name()).has_value() == (number.value >= 0), "a hold marker");
  const bool sound = count > 0 && length <= kLongestLockDelay && number.value >= 0;
  require(DelayMarker::parse(marker.name).has_value() == sound, "a marker, if it makes sense");
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = zklock::fuzz::as_text(data, size);
  zklock::fuzz::check_contender_name(text);
  zklock::fuzz::check_marker(text);
  zklock::fuzz::check_hold_marker(text);
  zklock::fuzz::check_count(text);
  zklock::fuzz::check_written(text);
  return 0;
}
