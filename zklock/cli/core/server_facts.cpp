// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/server_facts.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace zklock::cli {

namespace {

/// Returns the rest of the line that begins with `key`; an empty text if there is none.
std::string_view value_of(std::string_view answer, std::string_view key) {
  const auto at = answer.find(key);
  if (at == std::string_view::npos || (at > 0 && answer[at - 1] != '\n')) return {};
  const auto value = answer.substr(at + key.size());
  return value.substr(0, value.find('\n'));
}

/// Parses a number, and removes it and the dot behind it.
bool take_number(std::string_view& text, int& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return true;
}

}  // namespace

ServerFacts parse_server_facts(std::string_view answer) {
  ServerFacts facts;
  facts.mode = value_of(answer, "Mode: ");
  ServerVersion version{};
  std::string_view text = value_of(answer, "Zookeeper version: ");
  if (std::ranges::all_of(version, [&text](int& part) { return take_number(text, part); })) {
    facts.version = version;
  }
  return facts;
}

std::string to_string(const ServerVersion& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]);
}

VersionVerdict verdict_of(const ServerVersion& version) noexcept {
  if (version < ServerVersion{3, 5, 1})
    return {Level::failure, "upgrade it: zklock needs ZooKeeper 3.5.1 or later"};
  if (version < ServerVersion{3, 9, 4}) {
    return {Level::warning, "upgrade it: before 3.9.4 a server can lose a committed write"};
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> servers_of(std::string_view hosts) {
  std::vector<std::pair<std::string, std::string>> servers;
  hosts = hosts.substr(0, hosts.find('/'));
  while (!hosts.empty()) {
    const auto comma = hosts.find(',');
    const std::string_view each = hosts.substr(0, comma);
    const auto colon = each.rfind(':');
    if (colon != std::string_view::npos) {
      std::string_view host = each.substr(0, colon);
      if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
      servers.emplace_back(host, each.substr(colon + 1));
    }
    hosts = comma == std::string_view::npos ? std::string_view() : hosts.substr(comma + 1);
  }
  return servers;
}

}  // namespace zklock::cli
