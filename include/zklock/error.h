// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace zklock {

/// Why an operation of zklock failed. The numbers are stable; new ones are added at the end.
enum class Errc {
  invalid_path = 1,    ///< the lock path is not a usable ZooKeeper path; nothing was sent
  invalid_hosts,       ///< the connection string cannot be parsed; nothing was opened
  invalid_option,      ///< an option has a value outside its range; nothing was sent
  not_connected,       ///< no server could be reached in time; no node was left
  session_expired,     ///< the session ended while waiting, and the policy was not to queue again
  node_deleted,        ///< somebody deleted the waiting node, and the policy was not to queue again
  lock_lost,           ///< this owner's earlier hold was lost and is not unlocked yet; or the hold
                       ///< behind a guarded transaction was
  not_owner,           ///< unlock by an owner that does not hold; nothing was changed
  closed,              ///< the client was closed, or the mutex destroyed, while the call waited
  forked,              ///< the client was made before fork(); it belongs to the parent process
  no_auth,             ///< the ACL of the node or of its parent does not allow it
  auth_failed,         ///< the servers refused the credential; the client is of no more use
  invalid_acl,         ///< the ACL is empty, malformed, or needs a credential that is not given
  quota_exceeded,      ///< a quota of the servers stands against the node
  read_only,           ///< the server has lost its quorum and only reads are served
  sequence_exhausted,  ///< the path's sequence counter cannot be reset
  too_many_nodes,      ///< the cap on this session's lock nodes (ClientOptions::max_node_bytes)
  too_many_watches,    ///< the cap on this session's watches (ClientOptions::max_watch_bytes)
  no_chroot,           ///< the chroot of the connection string does not exist
  unsupported,         ///< the ZooKeeper client library was built without it (TLS)
  server_error,        ///< any other answer of the servers; the text has its name
  would_deadlock,      ///< the wait could never end (a read lock upgraded to write)
  settings_mismatch,   ///< contenders before it have other settings (number of permits, ageing)
  no_node,             ///< a node to be written, or the parent of one, does not exist
  node_exists,         ///< a node to be created exists already
  not_empty,           ///< a node to be removed has children
  version_mismatch,    ///< a node's data have another version than expected
  too_large,           ///< more than a request can hold; nothing was sent
  outcome_unknown,     ///< the answer was lost: it may have been done, or not
  bad_data,            ///< a node of the lock's says what it cannot mean; somebody has written it
};

/// The category named "zklock" of Errc's codes.
const std::error_category& error_category() noexcept;
std::error_code make_error_code(Errc e) noexcept;

/// Thrown by zklock's functions. what() reads as a sentence: operation, path, cause, and, where known,
/// what to do; then the code. For example
/// "lock /locks/a: no server could be reached within 2000 ms [zklock:4]".
///
/// An Error from an acquiring call says that the caller does not hold, and that its node is gone
/// or is being deleted in the background (at the latest it goes with the session).
///
/// Thread-safety: a value; copies share nothing mutable.
class Error : public std::system_error {
 public:
  /// `operation` as the user called it ("lock"), `path` may be empty, `cause` may be empty: then
  /// the code's own message stands there. Control characters and invalid UTF-8 in them are
  /// replaced by '?'.
  Error(Errc code, std::string_view operation, std::string_view path, std::string_view cause = {});

  Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  /// The path of the lock, or the connection string; empty where there is none.
  const std::string& path() const noexcept { return path_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string path_;
  std::string what_;
};

}  // namespace zklock

template <>
struct std::is_error_code_enum<zklock::Errc> : std::true_type {};
