// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spdlog {
class logger;
}

namespace zklock {

/// A name and a secret for ZooKeeper's "digest" scheme. The secret is never logged.
struct DigestCredential {
  std::string user;
  std::string password;
};

/// One entry of an access control list, as ZooKeeper knows it.
struct AclEntry {
  enum Permission : std::int32_t {
    read = 1,
    write = 2,
    create = 4,
    remove = 8,
    admin = 16,
    all = 31
  };
  std::int32_t permissions = all;
  std::string scheme;  ///< "world", "auth", "digest", "ip", "x509", ...
  std::string id;      ///< "anyone", "", "user:base64(sha1)", "10.0.0.0/8", ...
};

/// Who may do what with lock nodes and with the parents that zklock creates.
///
/// | policy        | lock node                              | parents created by zklock |
/// |---------------|----------------------------------------|---------------------------|
/// | open()        | this client: all; world: read          | world: all                |
/// | creator_all() | this client: all; your credential: read| your credential: all      |
/// | list(entries) | the entries                            | the entries               |
///
/// "This client" is a random credential that every Client makes for itself: nobody else can write
/// its nodes, which is what makes an announced release trustworthy. Deleting is checked on the
/// parent: whoever may delete below it can evict a contender. Existing parents are left as they
/// are. With list(), other identities may be able to write the znode, so a successor lists the
/// children at each hand-off. It also does so if the ACL of the lock path is unreadable, or gives an
/// identity CREATE without DELETE. Such an identity could announce a release that never took place.
///
/// Thread-safety: a value.
class AclPolicy {
 public:
  enum class Kind { open, creator_all, list };

  static AclPolicy open() { return AclPolicy(Kind::open, {}); }
  /// Needs ClientOptions::digest; else the Client's constructor throws Errc::invalid_acl.
  static AclPolicy creator_all() { return AclPolicy(Kind::creator_all, {}); }
  /// An empty list makes the Client's constructor throw Errc::invalid_acl.
  static AclPolicy list(std::vector<AclEntry> entries) {
    return AclPolicy(Kind::list, std::move(entries));
  }

  Kind kind() const noexcept { return kind_; }
  const std::vector<AclEntry>& entries() const noexcept { return entries_; }

 private:
  AclPolicy(Kind kind, std::vector<AclEntry> entries) : kind_(kind), entries_(std::move(entries)) {}
  Kind kind_;
  std::vector<AclEntry> entries_;
};

/// TLS to the servers. It needs a ZooKeeper C client built with OpenSSL (Debian 12's is not): else
/// the Client's constructor throws Errc::unsupported. The C client verifies the chain of
/// certificates, not the name of the host.
struct TlsOptions {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string key_password;
};

/// Runs a task on some thread, soon, and never before it returns. zklock calls it from threads of its
/// own that hold no lock: from one for the handlers of calls, in the order in which the calls ended,
/// and at the same time from another for each listener.
using Executor = std::function<void(std::function<void()>)>;

/// How a Client connects and behaves.
///
/// Thread-safety: a value.
struct ClientOptions {
  /// "host:port,host:port/chroot". The chroot must exist.
  ///
  /// Servers older than ZooKeeper 3.9.4 can lose a committed write if they crash around a leader
  /// change. A lock node that was granted may then be missing. See ZOOKEEPER-4643, 4646, 4685, 4712
  /// and 4785, and 4925 for 3.9.3. The protocol does not tell a client the version of its server, so
  /// the log has no warning about it.
  std::string hosts;

  /// The session timeout T to request; the servers may grant another. A warning is logged if they do,
  /// and if T changes later. A crashed holder's lock is released within T and two server ticks of the
  /// crash, plus its lock delay. A new leader restarts the timeout of every session. So a leader
  /// change adds the time from the crash to the end of the election. A hold without contact to the
  /// quorum is lost after at most two thirds of T. After T without a connection the client ends the
  /// session and opens a new one.
  std::chrono::milliseconds session_timeout{10'000};

  /// How long a call waits for a server before it throws not_connected. The explicit deadline of an
  /// acquire or lock call replaces it, whether shorter or longer. A call whose contender has been
  /// enqueued once waits until its deadline; without a deadline it waits indefinitely. A query
  /// (participants, observed states, permit counts) throws not_connected at the earlier of its
  /// deadline and this timeout. A deadline that has passed, as in try_lock(), stands for a single
  /// attempt: it waits this long. A QuorumMutex waits at most QuorumOptions::ensemble_timeout for
  /// each ensemble.
  std::chrono::milliseconds connection_timeout{15'000};

  /// The pause between two attempts to open a new session grows from the first to the second.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// How long a thread that waits lets others run before it sleeps: a blocking call for one lock, or
  /// a thread for callbacks. To be woken takes longer than many a wait. In a longer wait it helps,
  /// too: what the thread has just released is handed over by other threads, and these are woken
  /// sooner while no processor sleeps. With 2 ms, about the time of three hand-overs, there mostly
  /// is somebody for each of two processors. It costs that much processor time at most, a wait or a
  /// callback. Where others want the processors, so that letting them run takes more than 1 ms again
  /// and again, and more than about a twentieth of the time, no thread of the process does it for a
  /// while. 0: they sleep at once. At most 100 ms.
  std::chrono::microseconds stay_awake{2'000};

  /// Added to every connection before its first request.
  std::optional<DigestCredential> digest;
  AclPolicy acl = AclPolicy::open();
  std::optional<TlsOptions> tls;

  /// Where zklock, and the ZooKeeper C client under it, write their logs; nowhere when null. (The
  /// C client's level of detail is one for the whole process.)
  std::shared_ptr<spdlog::logger> logger;

  /// A word for people, written into every lock node: which service this is. Cut to 64 bytes.
  std::string application;

  /// Runs callbacks, listeners and coroutines. By default the client has a few threads for it,
  /// started when they are needed.
  Executor executor;

  /// Caps, in bytes of path names, on the lock nodes and on the watches of the session. A session
  /// with more than about 1 MB of either cannot be closed or reconnected by ZooKeeper; beyond the
  /// cap a call throws too_many_nodes or too_many_watches.
  std::size_t max_node_bytes = 800'000;
  std::size_t max_watch_bytes = 800'000;

  /// How many requests may be under way at once; more wait in the client, in order. Of those that
  /// create lock nodes in one path: 100, or this where it is less.
  std::size_t max_in_flight = 2'000;
};

}  // namespace zklock
