// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "zklock/testing/request_kind.h"

namespace zklock::testing::detail {

// The part of ZooKeeper's protocol that the proxy reads. The first frame of each direction opens
// the session. A later frame has its length, an xid that the reply repeats, and in a request its
// type.

// Returns the size of the first frame in `bytes`, including its length field. Returns nullopt if
// the frame is incomplete.
std::optional<std::size_t> frame_size(std::string_view bytes);

// REQUIRES: the frame is complete, and not the first one of its direction.
std::int32_t xid_of(std::string_view frame);

// Returns the kind of a request; `any` if no other kind fits. Returns nullopt for a request that
// only maintains the connection: ping, setWatches, auth, closeSession.
// REQUIRES: as for xid_of().
std::optional<RequestKind> kind_of(std::string_view frame);

// The xid of watch events.
inline constexpr std::int32_t kEventXid = -1;

}  // namespace zklock::testing::detail
