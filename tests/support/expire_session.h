// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace zklock::testing {

// Ends a live session for real, as a timeout would: another connection takes it over with its
// password and closes it. Returns when the server no longer knows the session, although its owner
// may try to take it back meanwhile. Throws ConnectError when the session does not exist or the
// password is wrong (the server does not tell which), std::runtime_error when the owner keeps
// winning.
void expire_session(const std::string& hosts, std::int64_t session_id,
                    const std::array<char, 16>& password);

// The same, with the password the server derives from the id.
void expire_session(const std::string& hosts, std::int64_t session_id);

// The password that a ZooKeeper server gives the session.
std::array<char, 16> session_password(std::int64_t session_id);

}  // namespace zklock::testing
