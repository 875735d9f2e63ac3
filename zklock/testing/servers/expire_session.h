// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace zklock::testing {

// The session does not exist, or the password is wrong. The server does not say which.
class UnknownSession : public std::runtime_error {
 public:
  UnknownSession() : runtime_error("no such session, or a wrong password") {}
};

// Ends a live session as a timeout would: another connection takes the session over with its
// password and closes it. Blocks until the server no longer knows the session, even if its owner
// tries to take it back. `hosts` is a connect string of ZooKeeper.
// Throws UnknownSession. Throws std::runtime_error if no server answers, or if the owner takes the
// session back too often.
void expire_session(const std::string& hosts, std::int64_t session_id,
                    const std::array<char, 16>& password);

// Uses the password that the server derives from the session id.
void expire_session(const std::string& hosts, std::int64_t session_id);

// Returns the password that a ZooKeeper server assigns to the session.
std::array<char, 16> session_password(std::int64_t session_id);

}  // namespace zklock::testing
