// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/acl_policy.h"
#include "zklock/executor.h"
#include "zklock/log.h"

namespace spdlog {
class logger;
}

namespace zklock {

/// A user and a password for ZooKeeper's "digest" scheme, in ASCII: servers read other characters
/// in the encoding of their locale. The password is never logged.
struct DigestCredential {
  std::string user;      ///< name, without a colon
  std::string password;  ///< in clear text
};

/// TLS to the servers. It needs a ZooKeeper C client that is built with OpenSSL; that of Debian 12
/// is not. Which one the process has is found out at run time: without OpenSSL the constructor of
/// Client throws Error(unsupported). The C client verifies the chain of certificates, and trusts
/// the authorities of the system too. It does not verify the host name. So any certificate of a
/// public authority passes; zklock/guides/tls.md has a safer way.
///
/// The C client waits without limit for a server that accepts a TLS connection and does not answer.
/// A Client without a session gives up after T, and makes another connection. A Client with a
/// session ends it after T, although another server could have continued it. After 16 such
/// connections, a Client makes no other until a server answers or closes one. Its error text says
/// so.
///
/// The C client crashes if a TLS connection gets a descriptor of 1024 or more. So the constructor
/// of Client throws Error(unsupported) if the soft limit RLIMIT_NOFILE is higher than 1024. A
/// program must not raise the limit while the client exists.
///
/// All three files are required, and no value may contain a comma. The constructor of Client reads
/// the files, and throws Error(invalid_option) if one is missing or is no PEM file. If OpenSSL is
/// loaded as a shared library, the password must open the key, and the key must belong to the
/// certificate. The C client reads the files again for each connection. So a certificate is
/// replaced by renaming the new file.
struct TlsOptions {
  std::string ca_file;            ///< certificates of the authorities, PEM
  std::string certificate_file;   ///< certificate of this client, PEM
  std::string key_file;           ///< its private key, PEM
  std::string key_password = {};  ///< password of the key file
};

/// Options of a Client. If an option is outside its range, the constructor of Client throws
/// Error(invalid_option).
///
/// Thread-safety: a value.
struct ClientOptions {
  /// "host:port,host:port/chroot". The chroot must exist, unless `create_chroot` is set.
  /// Client::set_hosts() replaces the servers. Host names are resolved for a new session, and after
  /// each failed attempt to connect. So a server may get another address. Client::set_hosts() names
  /// the cases in which only a new session resolves them.
  ///
  /// Servers older than ZooKeeper 3.9.4 can lose a committed write if they crash around a leader
  /// change. The znode of a granted lock can then be missing. See ZOOKEEPER-4643, 4646, 4685, 4712
  /// and 4785, and 4925 for 3.9.3. A client cannot read the version of its server, so the log has
  /// no warning about it.
  std::string hosts = {};

  /// If true, the client creates the missing znodes of the chroot with the first lock path below
  /// it. They are containers with the ACL of parents, so the servers delete them when they are
  /// empty. If false, a call that needs the missing chroot throws Error(no_chroot).
  bool create_chroot = false;

  /// The session timeout T to request; the servers may grant another. A warning is logged if they
  /// do, and if T changes later. A crashed holder's lock is released within T and two server ticks
  /// of the crash; its lock delay is added. If the ensemble elects a new leader meanwhile, it
  /// restarts the timeout of every session. That adds the time from the crash to the end of the
  /// election. A hold without contact to the quorum is lost after at most two thirds of T: its
  /// lease has expired. After T without a connection the client ends the session and opens a new
  /// one. Without TLS, a server that does not answer is given up after two thirds of T; before the
  /// first connection, of the requested value. So a value of 100 ms needs a server that opens a
  /// session within 66 ms. When all servers have refused a reconnection, the client pauses for a
  /// sixtieth of T. Range: 100 ms to 1 hour.
  std::chrono::milliseconds session_timeout{10'000};

  /// How long a call waits for a server before it throws not_connected. Range: 1 ms to 24 hours.
  ///
  /// An acquire or lock call with a deadline waits until that deadline instead, whether it is
  /// earlier or later. A call without a deadline waits indefinitely once its contender has
  /// enqueued. A query (participants, observed states, permit counts) throws not_connected at its
  /// deadline; without a deadline, after this timeout. For a single attempt, only this timeout
  /// applies. A single attempt is a try_lock(), or an acquire or a query whose deadline has passed
  /// already. An attempt of a QuorumMutex waits at most QuorumOptions::ensemble_timeout for each
  /// ensemble.
  std::chrono::milliseconds connection_timeout{15'000};

  /// The shortest and the longest pause between two attempts to open a new session. The pause grows
  /// with each failed attempt. Range: 1 ms to 1 hour, the shortest not above the longest.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// How long the delete of a lost hold's znode waits for the callbacks of its loss_token(). It
  /// applies if the znode outlives the loss: after an expired lease, at the end of the maximum hold
  /// time, and after a forced release. Until the delete, no conflicting contender is granted,
  /// unless the session ends. A callback that never returns blocks the lock until this limit, or
  /// until the session ends. Range: 0 ms to 24 hours.
  std::chrono::milliseconds loss_callback_limit{1'000};

  /// The credential that the client adds to every connection before the first request.
  std::optional<DigestCredential> digest = {};
  AclPolicy acl = AclPolicy::open();
  std::optional<TlsOptions> tls = {};

  /// The log of zklock and of the ZooKeeper C client. The C client has one log level for the whole
  /// process. A thread of the client writes the lines; see LogSink.
  ///
  /// If neither `logger` nor `log_sink` is set, warnings and errors of zklock go to the standard
  /// error output. A line is dropped if that output cannot take it at once. To have no log, set a
  /// sink that does nothing: `options.log_sink = [](LogLevel, std::string_view) {};`
  ///
  /// Four kinds of lines are limited, each separately: at most ten at once, and then one a second.
  /// A later line says how many were omitted.
  /// - Losses.
  /// - Slow acquires.
  /// - Other warnings of locks.
  /// - Warnings of the session, and exceptions of callbacks.
  ///
  /// Lines of the C client, lines about the events of a hold, and lines of the session below
  /// `warning` are not limited. At most 1,000 lines wait for a log that is too slow, and
  /// 1,000 more about losses.
  std::shared_ptr<spdlog::logger> logger = {};
  /// Receives the lines too. It needs no spdlog.
  LogSink log_sink = {};
  LogLevel log_level = LogLevel::info;  ///< lowest level for `log_sink`

  /// The name of this service, written into every lock znode, for people to read. It is cut to 64
  /// bytes.
  std::string application = {};

  /// Runs handlers, listeners and coroutines. Not called after Client::close() has closed the
  /// client. Default: threads of the client, at most eight (see Executor), and one more for each
  /// LockOptions::listener.
  Executor executor = {};

  /// Caps on the total length of the paths of the session's lock znodes, and of its watches, in
  /// bytes. With more than about 1 MB of znode paths, ZooKeeper cannot close the session. With as
  /// many bytes of watched paths, it cannot reconnect the session. A call that would exceed a cap
  /// throws too_many_nodes or too_many_watches. The znode that shows Participant::held_since is
  /// created only if all znodes then use at most half of max_node_bytes. Range: 1 to 1,000,000.
  std::size_t max_node_bytes = 800'000;
  std::size_t max_watch_bytes = 800'000;

  /// The most requests in flight at a time, 1 to 20,000; further ones wait in the client, in order.
  /// For requests that create lock znodes on one path the limit is 100, or this value if it is
  /// lower.
  std::size_t max_in_flight = 2'000;
};

}  // namespace zklock
