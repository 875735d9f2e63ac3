// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace zklock::testing {

// Sets the counter from which `path` (with the chroot) numbers its sequential children, in the newest
// snapshot of a server that is stopped: nobody can make two thousand million nodes. The server must
// have started since the node was made, and run with zookeeper.digest.enabled=false. Throws
// std::runtime_error where there is no such node.
void set_sequence_counter(const std::filesystem::path& server_directory, const std::string& path,
                          std::int32_t counter);

}  // namespace zklock::testing
