// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "zklock/client_options.h"
#include "zklock/core/session.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// Returns whether every identity that may create children of a znode with this ACL may also delete
/// them. An empty ACL permits everything to everybody.
///
/// Each entry that permits CREATE must itself permit DELETE, unless world:anyone may delete. Entries
/// of equal scheme and id are not combined: servers hide the secret part of digest ids from clients
/// without ADMIN, so different ids can look equal.
bool creators_may_delete(std::span<const AclEntry> acl) noexcept;

/// Decides whether the announced release of a predecessor is believed: whether an event
/// NODE_DATA_CHANGED of its znode is taken for a release without a list.
///
/// A contender with CREATE on the lock path can make a znode whose data promise an announcement, and
/// can write that znode while another contender holds the lock. If it may also delete below the path,
/// it could have deleted the znode of the holder, so a forged announcement gives it no new power. So
/// an announcement is believed only if all creators were permitted to delete when the predecessor was
/// created. Otherwise the successor lists the children.
///
/// The ACL is read once per path. Every stat of the path shows whether that ACL is still the current
/// one: its czxid names the path, its aversion counts the changes of the ACL.
///
/// | verdict | event                                  | next                                       |
/// |---------|----------------------------------------|--------------------------------------------|
/// | unknown | the ACL was read                       | safe or unsafe                             |
/// | unknown | the ACL may not be read                | unsafe                                     |
/// | any     | a stat shows another czxid or aversion | unknown                                    |
/// | any     | the ACL is wanted, and the last stat   | unknown                                    |
/// |         | is older than max_age                  |                                            |
/// | any     | a new session has begun: emptied       | unknown                                    |
/// |         | servers give czxids a second time      |                                            |
///
/// If the aversion is 0, the ACL is as old as the path. If not, predecessors that were there when this
/// version of the ACL was first read may have been created under an earlier ACL, and are not believed.
///
/// A stat is as old as the request that got it: `sent_at` is when that was sent.
///
/// Thread-safety: none.
class AnnouncementTrust {
 public:
  /// A contender that goes by its sequence number gets no stat of the path. So a change of the ACL
  /// can go unnoticed for this long.
  static constexpr std::chrono::seconds max_age{1};

  /// The czxid and the aversion in a stat of the path.
  struct Version {
    FencingToken path;
    std::int32_t acl = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  /// A stat of the path was read.
  void seen(const Version& version, Instant sent_at) noexcept;
  /// A contender waits for an announcement. Returns whether the ACL has to be read now; then exactly
  /// one of the next three calls must follow.
  bool wants_acl(Instant now) noexcept;
  /// The ACL was read, with this stat of the path. `last_child`: its pzxid.
  void acl_read(const Version& version, FencingToken last_child, std::span<const AclEntry> acl,
                Instant sent_at) noexcept;
  /// The servers refused to show the ACL.
  void acl_refused(Instant sent_at) noexcept;
  /// The request has failed; the ACL is read when it is wanted again.
  void acl_not_read() noexcept { reading_ = false; }
  /// A new session has begun.
  void forget() noexcept { verdict_ = Verdict::unknown; }

  /// `predecessor`: the czxid of its znode.
  bool believes(FencingToken predecessor) const noexcept {
    return verdict_ == Verdict::safe && predecessor > since_;
  }

 private:
  enum class Verdict : std::uint8_t { unknown, safe, unsafe };

  Version version_;
  Version read_;  ///< of the last ACL that was read
  Instant seen_at_{};
  FencingToken since_;  ///< predecessors up to this one are not believed
  Verdict verdict_ = Verdict::unknown;
  bool reading_ = false;
};

}  // namespace zklock::core
