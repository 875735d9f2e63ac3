// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/check_client_options.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/client/zookeeper/credentials.h"
#include "zklock/client/zookeeper/quirks/tls_files.h"
#include "zklock/client/zookeeper/zk_handle.h"
#include "zklock/error.h"

namespace zklock::client {
namespace {

using std::chrono::milliseconds;

// Each request in flight may leave a byte in a pipe of the C client. If that pipe of 64 KiB is
// full, the C client closes the connection.
constexpr std::size_t kMostInFlight = 20'000;

// When a session ends, ZooKeeper puts the paths of all its znodes into one packet. When a session
// reconnects, the client puts the paths of all its watches into one packet. A packet has at most
// 1,048,575 bytes, and each path takes four bytes more than its length.
constexpr std::size_t kMostPathBytes = 1'000'000;

[[noreturn]] void refuse(Errc code, const std::string& cause) {
  throw Error(code, "connect", {}, cause);
}

void check_duration(const char* name, milliseconds value, milliseconds min, milliseconds max) {
  if (value >= min && value <= max) return;
  refuse(Errc::invalid_option, std::string(name) + " is " + std::to_string(value.count()) +
                                   " ms, and must be from " + std::to_string(min.count()) + " to " +
                                   std::to_string(max.count()) + " ms");
}

void check_count(const char* name, std::size_t value, std::size_t max) {
  if (value >= 1 && value <= max) return;
  refuse(Errc::invalid_option, std::string(name) + " is " + std::to_string(value) +
                                   ", and must be from 1 to " + std::to_string(max));
}

void check_digest(const DigestCredential& digest) {
  if (digest.user.empty()) refuse(Errc::invalid_option, "digest.user is empty");
  if (digest.user.find(':') != std::string::npos) {
    refuse(Errc::invalid_option, "digest.user contains a colon");
  }
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 128; };
  if (!std::ranges::all_of(digest_secret(digest), is_ascii)) {
    refuse(Errc::invalid_option,
           "the digest contains a character that is not ASCII; servers read it in the encoding of "
           "their locale, so the client could not use its own znodes");
  }
}

void check_acl(const ClientOptions& options) {
  switch (options.acl.kind()) {
    case AclPolicy::Kind::open: return;
    case AclPolicy::Kind::creator_all:
      if (!options.digest)
        refuse(Errc::invalid_acl, "AclPolicy::creator_all() needs ClientOptions::digest");
      return;
    case AclPolicy::Kind::list: break;
  }
  const auto& entries = options.acl.entries();
  if (entries.empty()) refuse(Errc::invalid_acl, "the list of ACL entries is empty");
  for (const AclEntry& entry : entries) {
    if (entry.scheme.empty()) refuse(Errc::invalid_acl, "an ACL entry has no scheme");
    if (entry.permissions < 1 || entry.permissions > AclEntry::all) {
      refuse(Errc::invalid_acl, "an ACL entry has permissions " +
                                    std::to_string(entry.permissions) + ", not from 1 to 31");
    }
  }
  // With neither, only the random credential of this client is left.
  const auto is_auth = [](const AclEntry& entry) { return entry.scheme == "auth"; };
  if (!options.digest && !options.tls && std::ranges::all_of(entries, is_auth)) {
    refuse(Errc::invalid_acl,
           "all ACL entries have the scheme \"auth\", which needs ClientOptions::digest or ::tls; "
           "without them no other client could use the znodes. Behind stunnel, name the id of its "
           "certificate with the scheme \"x509\"");
  }
}

void check_tls(const TlsOptions& tls) {
  if (!tls_supported()) {
    refuse(
        Errc::unsupported,
        "the ZooKeeper C client was built without TLS; rebuild it with OpenSSL, or use a tunnel");
  }
  const std::string limit = tls_descriptor_problem();
  if (!limit.empty()) refuse(Errc::unsupported, limit);
  // The C client receives the four values as one text, separated by commas, and skips empty values.
  for (const std::string* file : {&tls.ca_file, &tls.certificate_file, &tls.key_file}) {
    if (file->empty() || file->find(',') != std::string::npos) {
      refuse(Errc::invalid_option, "the TLS files must be given, without a comma in their names");
    }
  }
  if (tls.key_password.find(',') != std::string::npos) {
    refuse(Errc::invalid_option, "tls.key_password contains a comma");
  }
  const std::string problem = tls_file_problem(tls);
  if (!problem.empty()) refuse(Errc::invalid_option, problem);
}

}  // namespace

void check_client_options(const ClientOptions& options) {
  constexpr milliseconds kHour = std::chrono::hours(1);
  constexpr milliseconds kDay = std::chrono::hours(24);
  (void)ConnectionString::parse(options.hosts);
  check_duration("session_timeout", options.session_timeout, milliseconds(100), kHour);
  check_duration("connection_timeout", options.connection_timeout, milliseconds(1), kDay);
  check_duration("loss_callback_limit", options.loss_callback_limit, milliseconds(0), kDay);
  check_duration("retry_delay_min", options.retry_delay_min, milliseconds(1), kHour);
  check_duration("retry_delay_max", options.retry_delay_max, options.retry_delay_min, kHour);
  check_count("max_in_flight", options.max_in_flight, kMostInFlight);
  check_count("max_node_bytes", options.max_node_bytes, kMostPathBytes);
  check_count("max_watch_bytes", options.max_watch_bytes, kMostPathBytes);
  if (options.digest) check_digest(*options.digest);
  check_acl(options);
  if (options.tls) check_tls(*options.tls);
}

}  // namespace zklock::client
