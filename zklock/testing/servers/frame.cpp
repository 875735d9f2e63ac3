// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/frame.h"

namespace zklock::testing::detail {
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

std::optional<RequestKind> kind_of(std::string_view frame) {
  // Source: org.apache.zookeeper.ZooDefs.OpCode.
  switch (number_at(frame, 8)) {
    case 1:
    case 15:
    case 19:
    case 21: return RequestKind::create;
    case 2:
    case 20: return RequestKind::remove;
    case 3: return RequestKind::exists;
    case 4: return RequestKind::get;
    case 8:
    case 12: return RequestKind::list;
    case 9: return RequestKind::sync;
    case 14: return RequestKind::multi;
    case -11:  // closeSession
    case 11:   // ping
    case 100:  // auth
    case 101:  // setWatches
    case 105:  // setWatches2
      return std::nullopt;
    default: return RequestKind::any;
  }
}

}  // namespace zklock::testing::detail
