// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::testing {

// Sends an administration word ("srvr", "wchs", "cons", "mntr", "dump", "wchp") to the server on
// 127.0.0.1:`port` and returns its whole answer; empty when nothing listens there, or it does not
// answer within `timeout` (a paused server accepts the connection and says nothing).
std::optional<std::string> four_letter_word(
    std::uint16_t port, std::string_view word,
    std::chrono::milliseconds timeout = std::chrono::seconds(2));

// The value of a "key<tab>value" line in the answer to "mntr"; empty when there is none.
std::optional<std::string> mntr_value(std::string_view answer, std::string_view key);

}  // namespace zklock::testing
