// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/cli/core/findings.h"

namespace zklock::cli {

using ServerVersion = std::array<int, 3>;
std::string to_string(const ServerVersion& version);

/// The answer of a ZooKeeper server to `srvr`.
struct ServerFacts {
  std::optional<ServerVersion> version;
  std::string mode;  ///< leader, follower, observer, standalone; empty: unknown
};
ServerFacts parse_server_facts(std::string_view answer);

/// Whether a server of some version is good enough for zklock, and the reason if not.
struct VersionVerdict {
  Level level = Level::ok;
  std::string_view reason = {};  ///< a literal; empty: ok
};
VersionVerdict verdict_of(const ServerVersion& version) noexcept;

/// Returns the hosts and ports of a connection string, without its chroot.
std::vector<std::pair<std::string, std::string>> servers_of(std::string_view hosts);

}  // namespace zklock::cli
