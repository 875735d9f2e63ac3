// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::chaos {

// The part of ZooKeeper's protocol that the proxy reads. The first frame of each direction opens
// the session. A later frame has its length, an xid that the reply repeats, and in a request its
// type.
enum class Request { create, remove, exists, get, list, multi, set_watches, ping, other };

// Returns the size of the first frame in `bytes`, including its length field. Returns nullopt if
// the frame is incomplete.
std::optional<std::size_t> frame_size(std::string_view bytes);

// REQUIRES: the frame is complete, and not the first one of its direction.
std::int32_t xid_of(std::string_view frame);
Request request_of(std::string_view frame);

// The xid of watch events.
inline constexpr std::int32_t kEventXid = -1;

}  // namespace zklock::chaos
