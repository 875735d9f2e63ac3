// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>

namespace zklock::cli {

inline constexpr std::size_t kMostHeadBytes = 8'192;
inline constexpr std::size_t kMostTargetBytes = 1'024;
inline constexpr std::size_t kMostFields = 64;
/// As an allowed host: every name is permitted.
inline constexpr std::string_view kAnyHost = "*";

/// Why a request is refused. A literal.
struct HttpRefusal {
  unsigned status;
  std::string_view text;
};

using HttpHead = boost::beast::http::header<true>;

/// Returns why the head of a request is refused; std::nullopt if it is permitted.
///
/// | status | cause                                                                             |
/// |--------|-----------------------------------------------------------------------------------|
/// | 400    | the target is no path; several Host fields; HTTP/1.1 without Host                 |
/// | 403    | the browser says that another site made the request; the page itself is permitted |
/// | 405    | another method than GET and HEAD                                                  |
/// | 413    | the request has a body                                                            |
/// | 414    | the target is longer than 1 KiB                                                   |
/// | 421    | Host is neither an address, localhost nor permitted by `allowed_hosts`. A name of |
/// |        | another site could resolve to this address (DNS rebinding)                        |
/// | 431    | more than 64 fields                                                               |
std::optional<HttpRefusal> refusal_of(const HttpHead& head,
                                      std::span<const std::string> allowed_hosts);

/// Returns the answer to a head that cannot be parsed: 400, 431 for more than 8 KiB, 505 for
/// another version. Returns std::nullopt if the connection failed.
std::optional<HttpRefusal> refusal_of(const boost::beast::error_code& error);

/// Returns whether the client accepts the encoding gzip. A weight ("gzip;q=1") counts as a refusal,
/// because it could be 0.
bool accepts_gzip(const HttpHead& head);

/// Returns the path of a target, without the query.
std::string_view path_of(const HttpHead& head) noexcept;
/// Returns the query of a target, without the question mark; empty if there is none.
std::string_view query_of(const HttpHead& head) noexcept;

}  // namespace zklock::cli
