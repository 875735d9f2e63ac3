// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/four_letter_word.h"

#include <algorithm>
#include <iterator>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

namespace zklock::testing {

std::optional<std::string> four_letter_word(std::uint16_t port, std::string_view word,
                                            std::chrono::milliseconds timeout) {
  try {
    boost::asio::ip::tcp::iostream server;
    server.expires_after(timeout);  // for all steps
    server.connect("127.0.0.1", std::to_string(port));
    server << word << std::flush;
    std::string answer(std::istreambuf_iterator<char>(server), {});
    if (server.error() != boost::asio::error::eof || answer.empty()) return std::nullopt;
    return answer;
  } catch (const boost::system::system_error&) {  // no descriptor is free
    return std::nullopt;
  }
}

std::optional<std::string> mntr_value(std::string_view answer, std::string_view key) {
  while (!answer.empty()) {
    const auto end = std::min(answer.find('\n'), answer.size());
    const auto line = answer.substr(0, end);
    const auto tab = line.find('\t');
    if (tab != std::string_view::npos && line.substr(0, tab) == key) {
      return std::string(line.substr(tab + 1));
    }
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return std::nullopt;
}

}  // namespace zklock::testing
