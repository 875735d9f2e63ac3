// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef THREADED
#define THREADED  // without it zookeeper.h hides the synchronous calls
#endif
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <zookeeper/zookeeper.h>

namespace zklock::testing {

class ConnectError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct StatReply {
  int rc = ZOK;
  Stat stat{};
};
struct CreateReply {
  int rc = ZOK;
  std::string path;  // with the sequence number; relative to the chroot
  Stat stat{};
};
struct DataReply {
  int rc = ZOK;
  std::string data;
  Stat stat{};
};
struct ChildrenReply {
  int rc = ZOK;
  std::vector<std::string> names;  // sorted
};
struct AclEntry {
  int perms = 0;
  std::string scheme;
  std::string id;
  friend bool operator==(const AclEntry&, const AclEntry&) = default;
};
struct AclReply {
  int rc = ZOK;
  std::vector<AclEntry> entries;
  Stat stat{};
};

struct RawClientOptions {
  std::chrono::milliseconds session_timeout{10000};
  std::chrono::milliseconds connect_timeout{60000};
};

/// Returns the names without those of hold markers, which appear some time after a grant.
inline std::vector<std::string> without_hold_markers(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return name.starts_with("held-"); });
  return names;
}

// A synchronous client for a second opinion of the servers' state, made of the C client only.
// Members return the codes of the C client (ZOK, ZNONODE, ...); only the constructor throws. They
// may be called from any thread, but not during close() or the destructor.
class RawClient {
 public:
  // Connects to "host:port,host:port[/chroot]". Throws ConnectError.
  explicit RawClient(const std::string& hosts, const RawClientOptions& options = {});
  ~RawClient();
  RawClient(RawClient&&) noexcept;
  RawClient& operator=(RawClient&&) noexcept;

  // Ends the session on the server, which deletes its ephemeral znodes. Later calls return
  // ZINVALIDSTATE.
  int close();

  int state() const;  // ZOO_CONNECTED_STATE, ZOO_EXPIRED_SESSION_STATE, ...
  std::int64_t session_id() const;
  std::array<char, 16> session_password() const;
  std::chrono::milliseconds negotiated_timeout() const;

  // `flags`: 0, ZOO_EPHEMERAL, ZOO_EPHEMERAL_SEQUENTIAL, ZOO_CONTAINER, ...
  CreateReply create(const std::string& path, const std::string& data = {}, int flags = 0,
                     const ACL_vector& acl = ZOO_OPEN_ACL_UNSAFE);
  int delete_node(const std::string& path, int version = -1);
  // Deletes the znode with all znodes below it, even while other clients create some. Returns ZOK
  // if it does not exist.
  int delete_recursive(const std::string& path);
  StatReply set_data(const std::string& path, const std::string& data, int version = -1);
  DataReply get_data(const std::string& path);
  StatReply exists(const std::string& path);
  ChildrenReply children(const std::string& path);
  AclReply get_acl(const std::string& path);
  int set_acl(const std::string& path, const ACL_vector& acl);
  // Adds "user:password". Blocks until the server has accepted it.
  int add_digest(const std::string& credential);
  // Changes the members of the ensemble. `joining`: "server.4=host:peer:election;client port".
  // `leaving`: "3". Needs the permissions of a super digest.
  int reconfigure(const std::string& joining, const std::string& leaving);

 private:
  struct State;
  int list_tree(const std::string& path, std::vector<std::string>& leaves_first);
  zhandle_t* handle() const;

  std::unique_ptr<State> state_;
};

}  // namespace zklock::testing
