// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/four_letter_word.h"

#include <array>
#include <cstddef>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace zklock::cli {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMostBytes = 16'384;

/// One exchange. Its handlers run in io_context::run().
class Exchange {
 public:
  Exchange(asio::io_context& io, const std::string& word) : stream_(io), word_(word) {}

  void start(const tcp::resolver::results_type& addresses, std::chrono::milliseconds limit) {
    stream_.expires_after(limit);  // for all steps
    stream_.async_connect(addresses, [this](const error_code& error, const tcp::endpoint& server) {
      if (error) return fail(error);
      address_ = server.address().to_string() + ":" + std::to_string(server.port());
      asio::async_write(stream_, asio::buffer(word_),
                        [this](const error_code& failed, std::size_t) {
                          if (failed) return fail(failed);
                          read();
                        });
    });
  }
  const std::string& text() const noexcept { return text_; }
  const std::string& problem() const noexcept { return problem_; }
  const std::string& address() const noexcept { return address_; }

 private:
  void read() {
    stream_.async_read_some(asio::buffer(part_),
                            [this](const error_code& error, std::size_t count) {
                              text_.append(part_.data(), count);
                              if (error && error != asio::error::eof) return fail(error);
                              if (!error && text_.size() < kMostBytes) read();
                            });
  }
  void fail(const error_code& error) {
    if (text_.empty()) problem_ = error.message();
  }

  boost::beast::tcp_stream stream_;
  const std::string word_;
  std::array<char, 4096> part_{};
  std::string text_;
  std::string problem_;
  std::string address_;
};

}  // namespace

ServerAnswer four_letter_word(const std::string& host, const std::string& port,
                              const std::string& word, std::chrono::milliseconds limit) {
  asio::io_context io(1);
  tcp::resolver resolver(io);
  error_code error;
  const auto addresses = resolver.resolve(host, port, error);
  if (error) return {.text = {}, .problem = error.message(), .address = {}};
  const auto begin = std::chrono::steady_clock::now();
  Exchange exchange(io, word);
  exchange.start(addresses, limit);
  io.run();
  return {.text = exchange.text(),
          .problem = exchange.problem(),
          .address = exchange.address(),
          .time = std::chrono::duration_cast<std::chrono::milliseconds>(
              std::chrono::steady_clock::now() - begin)};
}

}  // namespace zklock::cli
