// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "zklock/export.h"

namespace zklock {

/// The cause of a failed operation. The values are stable; new ones are added at the end.
enum class Errc {
  /// The path is empty, relative, "/", or in /zookeeper. Or it has an empty, "." or ".." component,
  /// a trailing slash, a control character, or invalid UTF-8. Nothing was sent.
  invalid_path = 1,
  /// The connection string cannot be parsed; nothing was opened.
  invalid_hosts,
  /// An option has a value outside its range; nothing was sent.
  invalid_option,
  /// No server could be reached in time. The text says why the last attempt failed.
  not_connected,
  /// The session ended while the call waited; only with OnNodeLost::fail.
  session_expired,
  /// Another client deleted the waiting znode; only with OnNodeLost::fail.
  node_deleted,
  /// An earlier hold of this owner was lost, and is not unlocked yet. Or the hold of a guarded
  /// transaction was lost. Or a CompositeMutex lost a part while the call waited; only with
  /// OnNodeLost::fail.
  lock_lost,
  /// The calling owner does not hold, or the Hold is empty. The text of unlock() says which owner
  /// of this client holds, if one does. Nothing was changed. Exception: unlock() of a MultiMutex or
  /// a QuorumMutex has unlocked the parts that were held.
  not_owner,
  /// The client, latch or election is closed, or the lock object was destroyed while the call
  /// waited.
  closed,
  /// The client was made before fork(), and belongs to the parent process.
  forked,
  /// The ACL of the znode, or of its parent, does not permit the operation. The text names the
  /// znode, the permission and the client's credential without its password.
  no_auth,
  /// The servers refused the credential, or require a scheme that zklock does not support, such as
  /// SASL. The client cannot be used any more, unless only one server requires it: if others have
  /// served this client, the call can be repeated.
  auth_failed,
  /// The ACL is empty or malformed, or it needs a credential that is missing.
  invalid_acl,
  /// A quota of the servers does not permit the znode.
  quota_exceeded,
  /// The server has no quorum, and serves only reads.
  read_only,
  /// The path's sequence counter is at its end, and the path could not be recreated. The text says
  /// why, for example because the path has another child.
  sequence_exhausted,
  /// The lock znodes of the session exceed ClientOptions::max_node_bytes.
  too_many_nodes,
  /// The watches of the session exceed ClientOptions::max_watch_bytes.
  too_many_watches,
  /// The connection string's chroot does not exist.
  no_chroot,
  /// The process lacks something that a Client needs. The system provides no thread or descriptor
  /// for it. Or TLS is not possible: the ZooKeeper client library was built without it, or the
  /// process may open more than 1024 descriptors.
  unsupported,
  /// Any other reply of the servers; the text names it.
  server_error,
  /// The wait could never end: this owner has a read lock, and requests a write lock or a mutex. Or
  /// it has permits by a MultiMutex, and requests a lock or another number of permits. Or threads
  /// of one Client wait for each other in a cycle. Each is in lock() or lock_shared(), with no
  /// time limit, stop token or maximum hold time. Then the call that closes the cycle fails; only
  /// a loss or an interruption of Boost.Thread could have ended it.
  would_deadlock,
  /// Contenders ahead have other settings: another permit count, another kind of count (fixed or
  /// shared), or another ageing.
  settings_mismatch,
  /// A znode to be written, or the parent of one, does not exist.
  no_node,
  /// The znode to be created exists already. An acquire fails with this code if another program
  /// made a znode with the next sequence number of the path.
  node_exists,
  /// The znode to be removed has children.
  not_empty,
  /// The version of the znode's data is not the expected one.
  version_mismatch,
  /// The data exceed the size of one request; nothing was sent.
  too_large,
  /// The reply was lost: the operation may have been executed.
  outcome_unknown,
  /// A znode of the lock has invalid data; another program wrote them.
  bad_data,
};

/// Returns the category of the Errc codes, with the name "zklock".
[[nodiscard]] ZKLOCK_EXPORT const std::error_category& error_category() noexcept;
[[nodiscard]] ZKLOCK_EXPORT std::error_code make_error_code(Errc e) noexcept;

/// Returns the name of the enumerator, for example "not_connected"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(Errc code) noexcept;
/// Writes to_string(). With spdlog or fmt, include <fmt/ostream.h> and pass fmt::streamed(code).
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, Errc code);

/// Thrown by zklock's functions. what() reads as a sentence: operation, path, cause, and, if known,
/// what to do. The name of the code follows. For example:
/// @code
///   lock /locks/a: the servers refused the credential digest:orders [auth_failed]
/// @endcode
///
/// An acquiring call that throws an Error has acquired nothing. Its znode is deleted, or the client
/// is deleting it in the background. At the latest it is deleted with the session.
///
/// If memory runs out, the process terminates, or a call throws std::bad_alloc and has acquired
/// nothing. A constructor throws std::bad_alloc, and leaves nothing behind.
///
/// Thread-safety: a value; copies share their immutable text, and copying does not throw.
class ZKLOCK_EXPORT Error : public std::system_error {
 public:
  /// `operation` is the operation that the user called, for example "lock". `path` may be empty. If
  /// `cause` is empty, the message of the code replaces it. Control characters and invalid UTF-8 in
  /// the texts are replaced by '?'.
  Error(Errc code, std::string_view operation, std::string_view path, std::string_view cause = {});

  /// Returns the cause, which is also the value of code().
  [[nodiscard]] Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  /// Returns the path of the lock, or the connection string; empty if there is none.
  [[nodiscard]] const std::string& path() const noexcept { return text_->path; }
  const char* what() const noexcept override;

  /// A move is a copy, so a moved-from Error keeps its text.
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;

 private:
  struct Text {
    std::string path;
    std::string what;
  };
  std::shared_ptr<const Text> text_;
};

}  // namespace zklock

template <>
struct std::is_error_code_enum<zklock::Errc> : std::true_type {};
