// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client_options.h"

namespace zklock::client {

/// An ACL (access control list) in the form of the C client.
///
/// Thread-safety: immutable after construction.
class Acl {
 public:
  explicit Acl(std::vector<AclEntry> entries);
  Acl(const Acl&) = delete;  // view_ points into entries_
  Acl& operator=(const Acl&) = delete;

  const ACL_vector& c_acl() const noexcept { return view_; }

 private:
  std::vector<AclEntry> entries_;
  std::vector<ACL> acls_;
  ACL_vector view_{};
};

/// Returns the ACL of lock znodes by the table of AclPolicy. `own`: the random credential that this
/// client made for itself. `user`: the credential of the options, if any.
std::vector<AclEntry> node_acl(const AclPolicy& policy, const DigestCredential& own,
                               const std::optional<DigestCredential>& user);

/// Returns the ACL of the parents that zklock creates, by the table of AclPolicy.
std::vector<AclEntry> parent_acl(const AclPolicy& policy,
                                 const std::optional<DigestCredential>& user);

}  // namespace zklock::client
