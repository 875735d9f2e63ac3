// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace zklock::testing {

// Sets the sequence counter of `path` (with the chroot) in the newest snapshot of a server. A test
// cannot create the two thousand million children that would be needed otherwise. Throws
// std::runtime_error if there is no such znode. REQUIRES: the server is stopped, was started after
// the znode was created, and runs with zookeeper.digest.enabled=false.
void set_sequence_counter(const std::filesystem::path& server_directory, const std::string& path,
                          std::int32_t counter);

}  // namespace zklock::testing
