// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/four_letter_word.h"

#include <cstddef>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace zklock::cli {

namespace {

constexpr std::size_t kMostBytes = 16'384;

}  // namespace

ServerAnswer four_letter_word(const std::string& host, const std::string& port,
                              const std::string& word, std::chrono::milliseconds limit) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io(1);
  boost::system::error_code error;
  const auto addresses = tcp::resolver(io).resolve(host, port, error);
  if (error) return {.text = {}, .problem = error.message(), .address = {}};
  ServerAnswer answer;
  const auto begin = std::chrono::steady_clock::now();
  tcp::iostream server;
  server.expires_after(limit);  // for all steps
  for (const auto& each : addresses) {
    server.clear();
    server.connect(each.endpoint());
    if (!server) continue;
    answer.address = each.endpoint().address().to_string() + ":" + port;
    break;
  }
  answer.text.resize(kMostBytes);
  server << word << std::flush;
  server.read(answer.text.data(), static_cast<std::streamsize>(answer.text.size()));
  answer.text.resize(static_cast<std::size_t>(server.gcount()));
  if (answer.text.empty() && server.error() != boost::asio::error::eof) {
    answer.problem = server.error().message();
  }
  answer.time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  return answer;
}

}  // namespace zklock::cli
