// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zklock::cli {

/// Sends the state to the service manager: one datagram to $NOTIFY_SOCKET, as sd_notify(3) does.
/// The value is a path, or begins with '@': an abstract socket. Does nothing without that variable.
/// Returns whether the datagram was sent. Does not block.
bool notify_service(std::string_view state) noexcept;

}  // namespace zklock::cli
