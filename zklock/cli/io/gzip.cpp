// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/gzip.h"

#include <cstddef>
#include <cstdint>

#include <boost/beast/core/error.hpp>
#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>
#include <boost/system/system_error.hpp>

namespace zklock::cli {

namespace {

namespace zlib = boost::beast::zlib;

constexpr int kLevel = 1;  ///< the fastest
constexpr int kWindowBits = 15;
constexpr int kMemoryLevel = 8;
constexpr std::size_t kEndOfFlush = 16;  ///< bytes; more than an empty block has

}  // namespace

std::string gzip_header() {
  // Magic number, method deflate, no flags, no time, no extra flags, unknown system.
  return {"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10};
}

std::string gzip_blocks(std::string_view text) {
  zlib::deflate_stream stream;
  stream.reset(kLevel, kWindowBits, kMemoryLevel, zlib::Strategy::normal);
  std::string result(stream.upper_bound(text.size()) + kEndOfFlush, '\0');
  zlib::z_params io;
  io.next_in = text.data();
  io.avail_in = text.size();
  io.next_out = result.data();
  io.avail_out = result.size();
  boost::beast::error_code error;
  stream.write(io, zlib::Flush::sync, error);
  if (error) throw boost::system::system_error(error);
  result.resize(io.total_out);
  return result;
}

std::string gzip(std::string_view text) {
  constexpr std::string_view kFinalBlock("\x03\0", 2);  // empty
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  std::string result = gzip_header().append(gzip_blocks(text)).append(kFinalBlock);
  for (const std::uint32_t number : {sum.checksum(), static_cast<std::uint32_t>(text.size())}) {
    for (const int shift : {0, 8, 16, 24}) result += static_cast<char>(number >> shift & 0xFF);
  }
  return result;
}

}  // namespace zklock::cli
