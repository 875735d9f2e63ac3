// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "zklock/core/child_nodes.h"

namespace zklock::core {
namespace {

TEST(ReleaseRequestData, NodeName_HasSequenceAndIsNoContender) {
  EXPECT_EQ(release_request_node({42}), "release-request-0000000042");
  for (const std::int32_t number : {0, 42, 2'147'483'647, -1, -2'147'483'647}) {
    const std::string name = release_request_node({number});
    EXPECT_FALSE(parse_znode_name(name)) << name;
    // Curator sorts by the text behind "lock-", or by the whole name without it.
    EXPECT_EQ(name.find(kLockPrefix), std::string::npos);
    EXPECT_GT(name, "9999999999");
  }
}

}  // namespace
}  // namespace zklock::core
