// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::cli {

/// Returns the first bytes of a stream in the format gzip (RFC 1952).
std::string gzip_header();
/// Returns a text as blocks of such a stream, flushed: the client can decode all of it at once. No
/// block is final, and none refers to an earlier call.
std::string gzip_blocks(std::string_view text);
/// Returns a whole stream with this text.
std::string gzip(std::string_view text);

}  // namespace zklock::cli
