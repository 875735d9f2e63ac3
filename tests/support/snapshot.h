// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace zklock::testing {

// Returns the JVM flags of a server whose snapshots set_sequence_counter() can change. Without
// them, a snapshot has a second checksum behind its digest, and one behind its last zxid (since
// 3.9.0).
std::vector<std::string> plain_snapshot_flags();

// Sets the sequence counter of `path` (with the chroot) in the newest snapshot of a server. A test
// cannot create the two thousand million children that would be needed otherwise. Throws
// std::runtime_error if there is no such znode. REQUIRES: the server is stopped, was started after
// the znode was created, and runs with plain_snapshot_flags().
void set_sequence_counter(const std::filesystem::path& server_directory, const std::string& path,
                          std::int32_t counter);

}  // namespace zklock::testing
