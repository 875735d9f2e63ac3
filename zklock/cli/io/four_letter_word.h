// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace zklock::cli {

/// The answer of a server to a four-letter word.
struct ServerAnswer {
  std::string text;     ///< at most 16 KiB
  std::string problem;  ///< why there is no answer
  std::string address;  ///< with the port; empty without a connection
  std::chrono::milliseconds time{0};
};

/// Sends a word such as "srvr" to "host:port", and reads until the server closes. Blocks for
/// `limit` at most, after the resolution of the name.
ServerAnswer four_letter_word(const std::string& host, const std::string& port,
                              const std::string& word, std::chrono::milliseconds limit);

}  // namespace zklock::cli
