// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/super_digest.h"

namespace zklock::testing {

inline const std::string kTop = "/guarded";

// Returns the path and all paths below it.
inline std::vector<std::string> tree(RawClient& client, const std::string& path) {
  std::vector<std::string> all{path};
  for (const std::string& name : client.children(path).names) {
    for (std::string& below : tree(client, (path == "/" ? "" : path) + "/" + name)) {
      all.push_back(std::move(below));
    }
  }
  return all;
}

inline bool has_name(const std::vector<std::string>& paths, std::string_view part) {
  return std::ranges::any_of(paths, [&](const std::string& path) {
    return path.find(part, path.rfind('/')) != std::string::npos;
  });
}

class Security : public LockTest {
 protected:
  ClientOptions credential(const std::string& password,
                           AclPolicy acl = AclPolicy::creator_all()) const {
    ClientOptions with = options();
    with.digest = DigestCredential{"orders", password};
    with.acl = std::move(acl);
    return with;
  }
  RawClient raw_with(const std::string& digest) const {
    RawClient client(chroot_.hosts());
    const int added = digest.empty() ? ZOK : client.add_digest(digest);
    EXPECT_EQ(added, ZOK);
    return client;
  }
  std::vector<std::string> everything() {
    RawClient super = raw_with(std::string(kSuperDigest));
    return tree(super, "/");
  }
};

}  // namespace zklock::testing
