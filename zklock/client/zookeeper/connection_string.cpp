// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/connection_string.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "zklock/core/lock_path.h"
#include "zklock/core/znode_data.h"
#include "zklock/error.h"

namespace zklock::client {
namespace {

constexpr std::size_t kMaxLength = 4096;

/// The whole connection string, and the operation that it is passed to.
struct Input {
  std::string_view text;
  const char* operation;
};

// Throws Error(Errc::invalid_hosts).
[[noreturn]] void refuse(const Input& input, const std::string& why) {
  throw Error(Errc::invalid_hosts, input.operation, core::printable(input.text, 256), why);
}

std::string quoted(std::string_view part) {
  return "\"" + core::printable(part, 128) + "\"";
}

std::string no_port(std::string_view entry) {
  return "the port is missing in " + quoted(entry) + "; write " + core::printable(entry, 128) +
         ":2181";
}

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_';
  });
}

bool is_ipv6(std::string_view host) {
  const std::string_view address = host.substr(0, host.find('%'));
  const std::string_view zone = host.substr(address.size());
  return std::count(address.begin(), address.end(), ':') >= 2 &&
         address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
         (zone.empty() || is_host_name(zone.substr(1)));
}

std::uint16_t parse_port(const Input& input, std::string_view port, std::string_view entry) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (error != std::errc() || end != port.data() + port.size() || value < 1 || value > 65535) {
    refuse(input, "the port in " + quoted(entry) + " is not a number from 1 to 65535");
  }
  return static_cast<std::uint16_t>(value);
}

ConnectionString::Server parse_server(const Input& input, std::string_view entry) {
  if (entry.empty()) refuse(input, "an entry between the commas is empty");
  const auto colon = entry.rfind(':');
  if (entry.front() == '[') {
    const auto bracket = entry.find(']');
    const std::string_view host =
        entry.substr(1, bracket == std::string_view::npos ? 0 : bracket - 1);
    if (!is_ipv6(host)) refuse(input, quoted(entry) + " is not an IPv6 address in brackets");
    if (colon != bracket + 1) refuse(input, no_port(entry));
    return {std::string(host), parse_port(input, entry.substr(colon + 1), entry)};
  }
  if (colon == std::string_view::npos) refuse(input, no_port(entry));
  const std::string_view host = entry.substr(0, colon);
  if (host.find(':') != std::string_view::npos) {
    refuse(input, "the IPv6 address in " + quoted(entry) + " must stand in brackets");
  }
  if (!is_host_name(host)) refuse(input, "the host in " + quoted(entry) + " is not a host name");
  return {std::string(host), parse_port(input, entry.substr(colon + 1), entry)};
}

std::string parse_chroot(const Input& input, std::string_view chroot) {
  if (chroot.empty() || chroot == "/") return {};
  try {
    return core::LockPath(std::string(chroot)).str();
  } catch (const Error&) {
    refuse(input, "the chroot " + quoted(chroot) + " is not a usable path");
  }
}

std::string with_port(const std::string& host, std::uint16_t port) {
  return host + ":" + std::to_string(port);
}

}  // namespace

ConnectionString ConnectionString::parse(std::string_view text, const char* operation) {
  const Input input{text, operation};
  if (text.empty()) refuse(input, "the connection string is empty");
  if (text.size() > kMaxLength) refuse(input, "the connection string is longer than 4096 bytes");
  const auto slash = std::min(text.find('/'), text.size());
  const std::string_view servers = text.substr(0, slash);
  ConnectionString result;
  for (std::size_t start = 0; start <= servers.size();) {
    const auto end = std::min(servers.find(',', start), servers.size());
    result.servers_.push_back(parse_server(input, servers.substr(start, end - start)));
    start = end + 1;
  }
  result.chroot_ = parse_chroot(input, text.substr(slash));
  return result;
}

std::string ConnectionString::for_c_client(const Resolver& resolve) const {
  std::string text;
  std::size_t count = 0;
  for (const Server& server : servers_) {
    std::vector<std::string> addresses = resolve(server.host);
    std::ranges::sort(addresses);
    for (const std::string& address : addresses) {
      if (!text.empty()) text += ',';
      // No brackets: the C client reads the port behind the last colon, and all before it as the
      // host.
      text += with_port(address, server.port);
      ++count;
    }
  }
  if (text.empty() || count % 2 != 0) return text;
  return text + "," + text.substr(0, text.find(','));
}

std::string ConnectionString::servers_text() const {
  std::string text;
  for (const Server& server : servers_) {
    if (!text.empty()) text += ", ";
    const bool v6 = server.host.find(':') != std::string::npos;
    text += with_port(v6 ? "[" + server.host + "]" : server.host, server.port);
  }
  return text;
}

std::vector<std::string> resolve_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_protocol = IPPROTO_TCP;
  addrinfo* found = nullptr;
  int error = EAI_NONAME;
  // Numeric addresses are tried first. For a host name, glibc acquires a lock. If another thread
  // forks meanwhile, the lock stays locked in the child.
  for (const int flags : {AI_NUMERICHOST, AI_ADDRCONFIG, 0}) {
    hints.ai_flags = flags;
    error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
    const bool other_flags_may_do = (flags == AI_NUMERICHOST && error == EAI_NONAME) ||
                                    error == EAI_BADFLAGS || error == EAI_ADDRFAMILY;
    if (!other_flags_may_do) break;
  }
  if (error != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

}  // namespace zklock::client
