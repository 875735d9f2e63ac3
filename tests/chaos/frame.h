// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::chaos {

// What of ZooKeeper's protocol matters here: after the first one in each direction, which opens the
// session, a frame is its length, then a number that a reply repeats (xid), and in a request what it
// asks for.
enum class Request { create, remove, exists, get, list, multi, set_watches, ping, other };

// How many bytes of `bytes` the first frame has, its length included; nothing while they are not all
// there.
std::optional<std::size_t> frame_size(std::string_view bytes);

// Of a complete frame that is not the first one of its direction.
std::int32_t xid_of(std::string_view frame);
Request request_of(std::string_view frame);

// Replies with this xid are watch events.
inline constexpr std::int32_t kEventXid = -1;

}  // namespace zklock::chaos
