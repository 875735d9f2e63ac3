// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::testing {

// Sends a four-letter word ("srvr", "wchs", "cons", "mntr", "dump", "wchp") to the server on
// 127.0.0.1:`port` and returns its whole answer. Returns nullopt if no server listens there, or if
// none answers within `timeout`. A paused server accepts the connection but does not answer.
std::optional<std::string> four_letter_word(
    std::uint16_t port, std::string_view word,
    std::chrono::milliseconds timeout = std::chrono::seconds(2));

// Returns the value of a "key<tab>value" line in the answer to "mntr", or nullopt.
std::optional<std::string> mntr_value(std::string_view answer, std::string_view key);

}  // namespace zklock::testing
