// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/http_rules.h"

#include <algorithm>
#include <iterator>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/verb.hpp>

namespace zklock::cli {

namespace {

namespace http = boost::beast::http;

/// Returns the name or the address of a Host field: without the port, and without brackets.
std::string_view host_name(std::string_view host) noexcept {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_allowed(std::string_view host, std::span<const std::string> allowed_hosts) {
  const std::string_view name = host_name(host);
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  if (!error) return true;
  return boost::beast::iequals(name, "localhost") ||
         std::ranges::any_of(allowed_hosts, [name](const std::string& each) {
           return each == kAnyHost || boost::beast::iequals(name, each);
         });
}

/// Browsers send the field Sec-Fetch-Site. Other programs need not.
bool is_of_another_site(const HttpHead& head) {
  const auto site = head.find("Sec-Fetch-Site");
  if (site == head.end()) return false;
  return site->value() != "same-origin" && site->value() != "none";
}

std::optional<HttpRefusal> refusal_of_host(const HttpHead& head,
                                           std::span<const std::string> allowed_hosts) {
  switch (head.count(http::field::host)) {
    case 0:
      if (head.version() < 11) return std::nullopt;  // no browser
      return HttpRefusal{400, "the field Host is missing"};
    case 1: break;
    default: return HttpRefusal{400, "several fields Host"};
  }
  if (is_allowed(head[http::field::host], allowed_hosts)) return std::nullopt;
  return HttpRefusal{421, "the host name is not permitted; see --allow-host"};
}

bool has_body(const HttpHead& head) {
  if (head.count(http::field::transfer_encoding) != 0) return true;
  const auto length = head.find(http::field::content_length);
  return length != head.end() && length->value() != "0";
}

}  // namespace

bool accepts_gzip(const HttpHead& head) {
  return std::ranges::any_of(http::ext_list(head[http::field::accept_encoding]),
                             [](const auto& each) {
                               return boost::beast::iequals(each.first, "gzip") &&
                                      each.second.begin() == each.second.end();
                             });
}

std::string_view path_of(const HttpHead& head) noexcept {
  return head.target().substr(0, head.target().find('?'));
}

std::string_view query_of(const HttpHead& head) noexcept {
  return head.target().substr(std::min(path_of(head).size() + 1, head.target().size()));
}

std::optional<HttpRefusal> refusal_of(const HttpHead& head,
                                      std::span<const std::string> allowed_hosts) {
  if (head.method() != http::verb::get && head.method() != http::verb::head) {
    return HttpRefusal{405, "only GET and HEAD are permitted"};
  }
  if (has_body(head)) return HttpRefusal{413, "a request has no body"};
  if (head.target().size() > kMostTargetBytes) return HttpRefusal{414, "the target is too long"};
  if (!head.target().starts_with('/')) return HttpRefusal{400, "the target is no path"};
  if (static_cast<std::size_t>(std::distance(head.begin(), head.end())) > kMostFields) {
    return HttpRefusal{431, "too many fields"};
  }
  if (auto refusal = refusal_of_host(head, allowed_hosts)) return refusal;
  if (path_of(head) != "/" && is_of_another_site(head)) {
    return HttpRefusal{403, "another site made the request"};
  }
  return std::nullopt;
}

std::optional<HttpRefusal> refusal_of(const boost::beast::error_code& error) {
  if (error.category() != http::make_error_code(http::error::bad_field).category() ||
      error == http::error::end_of_stream || error == http::error::partial_message) {
    return std::nullopt;
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return HttpRefusal{431, "the head is longer than 8 KiB"};
  }
  if (error == http::error::bad_version) return HttpRefusal{505, "only HTTP/1.0 and HTTP/1.1"};
  return HttpRefusal{400, "the request is malformed"};
}

}  // namespace zklock::cli
