// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/acl.h"

#include <utility>

#include "zklock/client/zookeeper/credentials.h"

namespace zklock::client {
namespace {

AclEntry world(AclEntry::Permission permissions) {
  return {permissions, "world", "anyone"};
}

// Names one credential. The scheme "auth" would stand for every credential of the connection.
AclEntry digest(AclEntry::Permission permissions, const DigestCredential& credential) {
  return {permissions, "digest", digest_id(credential)};
}

}  // namespace

Acl::Acl(std::vector<AclEntry> entries) : entries_(std::move(entries)) {
  acls_.reserve(entries_.size());
  for (AclEntry& entry : entries_) {
    acls_.push_back({entry.permissions, {entry.scheme.data(), entry.id.data()}});
  }
  view_.count = static_cast<std::int32_t>(acls_.size());
  view_.data = acls_.data();
}

std::vector<AclEntry> node_acl(const AclPolicy& policy, const DigestCredential& own,
                               const std::optional<DigestCredential>& user) {
  switch (policy.kind()) {
    case AclPolicy::Kind::open: return {digest(AclEntry::all, own), world(AclEntry::read)};
    case AclPolicy::Kind::creator_all:
      return {digest(AclEntry::all, own), digest(AclEntry::read, user.value())};
    case AclPolicy::Kind::list: return policy.entries();
  }
  return {};
}

std::vector<AclEntry> parent_acl(const AclPolicy& policy,
                                 const std::optional<DigestCredential>& user) {
  switch (policy.kind()) {
    case AclPolicy::Kind::open: return {world(AclEntry::all)};
    case AclPolicy::Kind::creator_all: return {digest(AclEntry::all, user.value())};
    case AclPolicy::Kind::list: return policy.entries();
  }
  return {};
}

}  // namespace zklock::client
