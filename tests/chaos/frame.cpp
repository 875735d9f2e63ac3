// SPDX-License-Identifier: Apache-2.0
#include "chaos/frame.h"

namespace zklock::chaos {
namespace {

std::int32_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte =
        offset + i < bytes.size() ? static_cast<unsigned char>(bytes[offset + i]) : 0U;
    value = value << 8U | byte;
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::optional<std::size_t> frame_size(std::string_view bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const std::size_t size = 4 + static_cast<std::uint32_t>(number_at(bytes, 0));
  if (bytes.size() < size) return std::nullopt;
  return size;
}

std::int32_t xid_of(std::string_view frame) {
  return number_at(frame, 4);
}

Request request_of(std::string_view frame) {
  // Source: org.apache.zookeeper.ZooDefs.OpCode.
  switch (number_at(frame, 8)) {
    case 1:
    case 15:
    case 19:
    case 21: return Request::create;
    case 2:
    case 20: return Request::remove;
    case 3: return Request::exists;
    case 4: return Request::get;
    case 8:
    case 12: return Request::list;
    case 11: return Request::ping;
    case 14: return Request::multi;
    case 101: return Request::set_watches;
    default: return Request::other;
  }
}

}  // namespace zklock::chaos
