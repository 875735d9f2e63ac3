// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/announcement_trust.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace zklock::core {

namespace {

bool may(const AclEntry& entry, AclEntry::Permission permission) noexcept {
  return (entry.permissions & permission) != 0;
}

bool is_anyone(const AclEntry& entry) noexcept {
  return entry.scheme == "world" && entry.id == "anyone";
}

}  // namespace

bool creators_may_delete(std::span<const AclEntry> acl) noexcept {
  const auto lets_anyone_delete = [](const AclEntry& entry) {
    return is_anyone(entry) && may(entry, AclEntry::remove);
  };
  const auto lets_creators_delete = [](const AclEntry& entry) {
    return !may(entry, AclEntry::create) || may(entry, AclEntry::remove);
  };
  return std::ranges::any_of(acl, lets_anyone_delete) ||
         std::ranges::all_of(acl, lets_creators_delete);
}

void AnnouncementTrust::on_path_stat(const Version& version, Instant sent_at) noexcept {
  if (version != version_) verdict_ = Verdict::unknown;
  version_ = version;
  seen_at_ = sent_at;
}

bool AnnouncementTrust::begin_acl_read_if_due(Instant now) noexcept {
  assert(!reading_ || verdict_ == Verdict::unknown);
  assert(verdict_ != Verdict::safe || read_ == version_);
  if (now - seen_at_ > kMaxAge) verdict_ = Verdict::unknown;
  if (reading_ || verdict_ != Verdict::unknown) return false;
  reading_ = true;
  return true;
}

void AnnouncementTrust::on_acl_read(const Version& version, Zxid pzxid,
                                    std::span<const AclEntry> acl, Instant sent_at) noexcept {
  assert(reading_);
  reading_ = false;
  on_path_stat(version, sent_at);
  const bool is_same = std::exchange(read_, version) == version;
  if (!is_same) since_ = version.acl == 0 ? Zxid{} : pzxid;
  verdict_ = creators_may_delete(acl) ? Verdict::safe : Verdict::unsafe;
}

void AnnouncementTrust::on_acl_refused(Instant sent_at) noexcept {
  reading_ = false;
  seen_at_ = sent_at;
  verdict_ = Verdict::unsafe;
}

}  // namespace zklock::core
