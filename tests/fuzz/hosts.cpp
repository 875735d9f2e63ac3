// SPDX-License-Identifier: Apache-2.0
// Connection strings. An accepted string names servers that can be resolved. It parses to an equal
// value when it is written again, and converts to a string for the C client. Other strings are
// refused with a typed error.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/core/lock_path.h"
#include "zklock/error.h"

namespace zklock::fuzz {
namespace {

using client::ConnectionString;

void check_server(const ConnectionString::Server& server) {
  require(server.port > 0 && !server.host.empty(), "a host and a port");
  require(server.host.find_first_of("[],/ \t\r\n") == std::string::npos, "a host alone");
  require(std::ranges::all_of(server.host, [](char c) { return c > 0x20 && c < 0x7F; }),
          "plain characters");
}

bool same(const ConnectionString& a, const ConnectionString& b) {
  return a.chroot() == b.chroot() &&
         std::ranges::equal(a.servers(), b.servers(), [](const auto& x, const auto& y) {
           return x.host == y.host && x.port == y.port;
         });
}

void check_written_again(const ConnectionString& hosts) {
  std::string text = hosts.servers_text();
  std::erase(text, ' ');
  require(same(ConnectionString::parse(text + hosts.chroot()), hosts), "the same again", text);
  require(ConnectionString::parse(text + "/").chroot().empty(), "the root is no chroot");
}

/// Returns 0 to 3 addresses, chosen by the length of the name. No host can have such a name.
std::vector<std::string> addresses(const std::string& host) {
  return std::vector<std::string>(host.size() % 4, "!" + std::to_string(host.size()));
}

/// Parses as the C client does: the port follows the last colon.
void check_for_c_client(const ConnectionString& hosts) {
  const std::string text = hosts.for_c_client(addresses);
  const bool none = std::ranges::all_of(
      hosts.servers(), [](const auto& server) { return addresses(server.host).empty(); });
  require(text.empty() == none, "empty when none can be resolved");
  if (none) return;
  std::size_t count = 0;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find(',', start), text.size());
    const std::string entry = text.substr(start, end - start);
    start = end + 1;
    const auto colon = entry.rfind(':');
    require(colon != std::string::npos && colon > 0, "host:port", entry);
    const std::string host = entry.substr(0, colon);
    const bool named = std::ranges::any_of(hosts.servers(),
                                           [&](const auto& server) { return server.host == host; });
    count += named ? addresses(host).size() : 1;
    unsigned port = 0;
    const char* const last = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data() + colon + 1, last, port);
    require(error == std::errc() && stop == last && port > 0 && port <= 65535, "a port", entry);
    require(entry[colon + 1] != '0', "no leading zero, which may mean octal", entry);
  }
  require(count % 2 == 1, "an odd number of addresses", text);
}

std::optional<ConnectionString> parse(std::string_view text) {
  try {
    return ConnectionString::parse(text);
  } catch (const Error& error) {
    require(error.errc() == Errc::invalid_hosts, "a typed error");
    require(is_fit_to_be_shown(error.what()), "fit to be shown");
    return std::nullopt;
  }
}

void check(std::string_view text) {
  const auto hosts = parse(text);
  if (!hosts) return;
  require(!hosts->servers().empty(), "at least one server");
  std::ranges::for_each(hosts->servers(), check_server);
  if (!hosts->chroot().empty()) {
    require(core::LockPath(hosts->chroot()).str() == hosts->chroot(), "a usable chroot");
    require(text.ends_with(hosts->chroot()), "as it was said");
  }
  check_written_again(*hosts);
  check_for_c_client(*hosts);
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zklock::fuzz::check(zklock::fuzz::as_text(data, size));
  return 0;
}
