// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// One entry of an access control list, as ZooKeeper knows it.
struct AclEntry {
  /// ZooKeeper's permissions, as bits. `remove` is DELETE.
  enum Permission : std::int32_t {
    read = 1,
    write = 2,
    create = 4,
    remove = 8,
    admin = 16,
    all = 31
  };
  std::int32_t permissions = all;  ///< sum of Permission bits
  std::string scheme;              ///< "world", "auth", "digest", "ip", "x509", ...
  std::string id;                  ///< "anyone", "", "user:base64(sha1)", "10.0.0.0/8", ...
};

/// The permissions on lock znodes, and on the parents that zklock creates.
///
/// | policy        | lock znode                             | parents created by zklock |
/// |---------------|----------------------------------------|---------------------------|
/// | open()        | this client: all; world: read          | world: all                |
/// | creator_all() | this client: all; your credential: read| your credential: all      |
/// | list(entries) | the entries                            | the entries               |
///
/// "This client" is a random credential that every Client creates for itself. With open() and
/// creator_all(), no other client can write the lock znodes of this client. ZooKeeper checks the
/// DELETE permission on the parent. An identity that has it can delete the znode of any contender.
/// Existing parents are not changed.
///
/// A client announces a release: one multi first writes to its lock znode, and then deletes it. The
/// next contender watches that znode. The event of the write (NODE_DATA_CHANGED) grants it the
/// lock, without a getChildren request. An entry of list() can grant WRITE on the lock znode to
/// other identities. So with list() the client announces no release, and the next contender sends
/// getChildren.
///
/// REQUIRES: Each identity with CREATE on a lock path also has DELETE there. zklock does not check
/// that. An identity with CREATE alone could enqueue a znode of its own and write to it. The
/// contender behind that znode would take the write for an announced release. It would be granted
/// while another contender holds, and only the tokens would separate the two holds. An identity
/// with DELETE gains nothing by such a write: it can delete the holder's znode directly.
///
/// A contender needs READ, CREATE and DELETE on the lock path, but not READ on the znodes of other
/// contenders. If it may not read the znode ahead of it, it sends one exists a second while it
/// waits. It is then granted up to a second after the release. This happens if clients with
/// creator_all() and different credentials contend on a path with an open ACL, or with such a
/// list().
///
/// Thread-safety: a value. No thread may write the object while another thread uses it.
class AclPolicy {
 public:
  /// The policies of the table above.
  enum class Kind { open, creator_all, list };

  /// Every client can read lock znodes. Only the creator can write them. Every client has all
  /// permissions on the parents that zklock creates, so it can delete the lock znodes there.
  [[nodiscard]] static AclPolicy open() { return AclPolicy(Kind::open, {}); }
  /// REQUIRES: ClientOptions::digest is set. Otherwise the constructor of Client throws
  /// Error(invalid_acl).
  [[nodiscard]] static AclPolicy creator_all() { return AclPolicy(Kind::creator_all, {}); }
  /// REQUIRES: the list is not empty. If all its entries have the scheme "auth",
  /// ClientOptions::digest or ClientOptions::tls is set. Otherwise the constructor of Client throws
  /// Error(invalid_acl). The list must also give the client READ on its own lock znodes, which is
  /// not checked. Without it, a znode whose creation or deletion has an unknown result can block
  /// the lock until its session ends. Give each identity that has CREATE also DELETE: see the
  /// comment of the class.
  [[nodiscard]] static AclPolicy list(std::vector<AclEntry> entries) {
    return AclPolicy(Kind::list, std::move(entries));
  }

  /// Return the policy, and the entries of list().
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::vector<AclEntry>& entries() const noexcept { return entries_; }

 private:
  AclPolicy(Kind kind, std::vector<AclEntry> entries) : kind_(kind), entries_(std::move(entries)) {}
  Kind kind_;
  std::vector<AclEntry> entries_;
};

}  // namespace zklock
