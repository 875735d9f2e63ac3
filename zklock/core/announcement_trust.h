// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "zklock/acl_policy.h"
#include "zklock/core/session.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// Returns whether every identity that may create children of a znode with this ACL may also delete
/// them. An empty ACL permits everything to all clients.
///
/// Each entry that permits CREATE must itself permit DELETE, unless world:anyone may delete.
/// Entries of equal scheme and id are not combined. Servers hide the secret part of digest ids from
/// clients without ADMIN, so different ids can look equal.
bool creators_may_delete(std::span<const AclEntry> acl) noexcept;

/// Decides whether a NODE_DATA_CHANGED event of a predecessor is taken for its release. If not, the
/// children are listed.
///
/// An announcement can be forged. A client with CREATE on the lock path makes a znode that promises
/// an announcement. It writes that znode while another contender holds the lock, and the successor
/// of that znode takes this for a release. If the client also has DELETE, it could delete the
/// holder's znode, so the forgery gives it no new power. So an announcement is believed only if all
/// creators had DELETE when the predecessor was created. Otherwise the successor lists the
/// children.
///
/// The ACL is read when it is wanted and the verdict is unknown. Every stat of the path shows
/// whether that ACL is still current. The czxid identifies the path, and the aversion counts the
/// changes of the ACL.
///
/// | verdict | event                                  | next           |
/// |---------|----------------------------------------|----------------|
/// | unknown | the ACL was read                       | safe or unsafe |
/// | unknown | the ACL may not be read                | unsafe         |
/// | any     | a stat shows another czxid or aversion | unknown        |
/// | any     | the ACL is wanted, and the last stat   | unknown        |
/// |         | is older than kMaxAge                  |                |
/// | any     | a new session has begun: an ensemble   | unknown        |
/// |         | that lost its data repeats czxids      |                |
///
/// If the aversion is 0, the ACL is as old as the path. Otherwise some predecessors may have been
/// created under an earlier ACL: those that existed when this version of the ACL was first read.
/// They are not believed.
///
/// The age of a stat counts from the sending of its request, `sent_at`.
///
/// Thread-safety: none.
class AnnouncementTrust {
 public:
  /// How long a change of the ACL can go unnoticed. Contenders that rely on the sequence hint, or
  /// that omit the count of the children, read no stat. So the last stat can be old.
  static constexpr std::chrono::seconds kMaxAge{1};

  /// The czxid and the aversion in a stat of the path.
  struct Version {
    Zxid path_czxid;
    std::int32_t acl = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  /// Records a stat of the path.
  void on_path_stat(const Version& version, Instant sent_at) noexcept;
  /// Called when a contender waits for an announcement. Forgets the verdict if the last stat is
  /// older than kMaxAge. Returns true if the caller must read the ACL now, and then call exactly
  /// one of on_acl_read(), on_acl_refused() and on_acl_not_read(). Until then it returns false.
  bool begin_acl_read_if_due(Instant now) noexcept;
  /// The ACL was read together with this stat of the path. `pzxid`: the zxid of the last create or
  /// delete of a child.
  void on_acl_read(const Version& version, Zxid pzxid, std::span<const AclEntry> acl,
                   Instant sent_at) noexcept;
  /// The server refused to show the ACL.
  void on_acl_refused(Instant sent_at) noexcept;
  /// The request failed. The ACL is read when begin_acl_read_if_due() is called again.
  void on_acl_not_read() noexcept { reading_ = false; }
  /// A new session has begun.
  void forget() noexcept {
    verdict_ = Verdict::unknown;
    read_ = {};
  }

  /// Returns whether the announcement is believed. `predecessor`: the czxid of its znode.
  bool believes(FencingToken predecessor) const noexcept {
    return verdict_ == Verdict::safe && predecessor > since_;
  }

 private:
  enum class Verdict : std::uint8_t { unknown, safe, unsafe };

  Version version_;
  Version read_;  ///< version of the last ACL read
  Instant seen_at_{};
  Zxid since_;  ///< predecessors up to this one are not believed
  Verdict verdict_ = Verdict::unknown;
  bool reading_ = false;
};

}  // namespace zklock::core
