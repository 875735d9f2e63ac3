// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/model/sim_clock.h"
#include "zklock/client/coordinator.h"
#include "zklock/client_options.h"

namespace zklock::model {

using client::Operation;
using client::Reply;
using client::request::WatchEvent;
using core::SessionId;
using core::Status;

/// A visitor made of lambdas.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

/// The alternatives of Operation, in its order.
enum class OperationKind : std::size_t {
  create_contender,
  count_children,
  create_parents,
  list_children,
  get,
  get_and_watch,
  check,
  remove,
  announce_and_delete,
  list_and_watch,
  exists_and_watch,
  transaction,
  get_acl,
};
inline constexpr std::size_t operation_kinds = std::variant_size_v<Operation>;

inline OperationKind kind_of(const Operation& operation) noexcept {
  return static_cast<OperationKind>(operation.index());
}
/// Whether the leader and a majority carry it out; the others are answered by one server alone.
bool is_quorum_operation(OperationKind kind) noexcept;

/// Identifies the secret of one client, which its coordinator adds to every connection. 0: no client.
enum class Credential : std::uint64_t {};

/// The access control list of a node, as far as zklock and the tests write such lists. Every client
/// of the simulation presents the shared credential of the users; a stranger does not.
struct NodeAcl {
  std::int32_t everyone = AclEntry::all;  ///< bits of AclEntry::Permission
  std::int32_t users = 0;                 ///< bits of AclEntry::Permission
  Credential owner{};                     ///< the client with all permissions; 0: none

  /// Returns whether the client has one of these permissions.
  bool allows(std::int32_t permissions, Credential client) const noexcept {
    const std::int32_t granted = everyone | (client != Credential{} ? users : 0);
    return (granted & permissions) != 0 || (owner != Credential{} && owner == client);
  }
  /// Returns the entries as getACL shows them to the client: the secret part of digest ids is hidden
  /// from clients without ADMIN.
  std::vector<AclEntry> entries_for(Credential client) const;
};

struct Node {
  std::string data;
  NodeAcl acl;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;  ///< of the last child that came or went
  std::int32_t version = 0;
  std::int32_t acl_version = 0;
  std::int64_t created_ms = 0;
  SessionId owner;  ///< of an ephemeral node; 0: it is none
  bool container = false;
  std::int32_t counter = 0;           ///< how many children it was given: the next sequence number
  std::vector<std::string> children;  ///< names, in no order that anybody may rely on
};

/// The nodes by path. A value, so that a server that stays behind can keep the old one.
class Tree {
 public:
  Tree() { nodes_.try_emplace("/"); }
  const Node* find(std::string_view path) const;
  Node* find(std::string_view path);
  /// Both want the parent to exist; neither looks at anything else. A parent's last change is not
  /// recorded for a child that it is given when its counter is at its end.
  Node& add(std::string path, Node node);
  void remove(const std::string& path);
  const std::map<std::string, Node, std::less<>>& nodes() const noexcept { return nodes_; }

 private:
  std::map<std::string, Node, std::less<>> nodes_;
};

/// What a server answers `client` from its own tree: everything but quorum operations.
Reply read(const Tree& tree, const Operation& operation, Credential client);

/// The quorum side of a simulated ZooKeeper: nodes, transactions, sessions. What a single server
/// has of its own (watches, a connection, a tree that lags) is with its client, in SimCoordinator.
class SimEnsemble {
 public:
  /// A server that is told of every transaction as it is carried out.
  class Server {
   public:
    /// `acl`: the list of the node. A server sends the event only to clients that may read it.
    virtual void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& acl) = 0;
    virtual void on_session_gone(SessionId session) = 0;

   protected:
    ~Server() = default;
  };

  explicit SimEnsemble(SimClock& clock) noexcept : clock_(clock) {}
  SimEnsemble(const SimEnsemble&) = delete;
  SimEnsemble& operator=(const SimEnsemble&) = delete;
  void attach(Server& server) { servers_.push_back(&server); }

  // Sessions. One that is not touched for its timeout expires; timeout 0: never.
  SessionId open_session(Duration timeout) { return open_session(timeout, new_credential()); }
  SessionId open_session(Duration timeout, Credential client);
  /// Returns a credential that no other client has.
  Credential new_credential() noexcept { return Credential{++last_credential_}; }
  bool is_alive(SessionId session) const { return sessions_.contains(session); }
  void touch(SessionId session);
  void set_timeout(SessionId session, Duration timeout);
  /// Expired or closed: in one transaction its ephemeral nodes go.
  void end_session(SessionId session);
  std::optional<Instant> last_touch(SessionId session) const;
  std::vector<std::string> ephemerals(SessionId session) const;
  std::size_t session_count() const noexcept { return sessions_.size(); }

  /// Carries out a request of a session. session_ended, and nothing done, when it is not alive.
  Reply apply(SessionId session, const Operation& operation);

  // What somebody else writes: an operator, another kind of client, another session. No access
  // control list applies to it.
  Status create(const std::string& path, std::string data = {}, SessionId owner = {},
                NodeAcl acl = {});
  Status create_container(const std::string& path);
  /// The list that clients give from now on to the containers they create, and to other nodes that
  /// are no contenders.
  void set_parent_acl(NodeAcl acl) { parent_acl_ = acl; }
  /// The name, or nothing when the parent is missing or the name is taken (see next_name).
  std::optional<std::string> create_sequential(const std::string& parent, std::string_view prefix,
                                               std::string data = {}, SessionId owner = {});
  Status set_data(const std::string& path, std::string data);
  Status set_acl(const std::string& path, NodeAcl acl);
  Status remove(const std::string& path);
  /// The next sequence number under `path`.
  void set_counter(const std::string& path, std::int32_t next);
  /// As the servers do in the background: containers that had children and have none now, with
  /// those above them that become so. Says how many went.
  std::size_t reap_containers();
  /// A new leader: a higher epoch in the zxid, and every session has its full timeout again.
  void restart();
  /// All servers are emptied: no nodes, no sessions, and zxids from the beginning.
  void empty();
  /// There is no leader, and nobody expires, until restart().
  void lose_leader() noexcept { has_leader_ = false; }
  /// The wall clock of the servers jumps.
  void jump(Duration by) noexcept { wall_clock_ += by; }

  /// Whose request, or end, brings about what servers are being told of; 0: somebody else's.
  SessionId acting() const noexcept { return acting_; }

  const Tree& tree() const noexcept { return tree_; }
  const Node* find(std::string_view path) const { return tree_.find(path); }
  std::int64_t last_zxid() const noexcept { return zxid_; }

 private:
  struct Session {
    Duration timeout{};
    Credential client{};
    Instant last_touch;
    std::vector<std::string> ephemerals;
    TimerId timer{};
  };
  /// The client that makes a change. Without a value: an operator. No list binds it.
  using Author = std::optional<Credential>;
  struct NewNode {
    std::string path;  ///< without the sequence number
    std::string data = {};
    SessionId owner = {};
    NodeAcl acl = {};
    bool container = false;
    bool sequential = false;
  };
  Reply carry_out_request(SessionId session, const Operation& operation);
  Reply create_contender(SessionId session, const client::request::CreateContender& request);
  Status create_parents(const std::string& path, Author author);
  Reply transaction(SessionId session, const client::request::Transaction& request);
  /// What was made goes into `reply`, where the servers choose its name.
  Status carry_out(SessionId session, const client::request::Write& write, Reply& reply);
  /// Creates a node, and completes the path of `made` with the sequence number.
  Status make(NewNode& made, Author author);
  Status check_node(const std::string& path, std::int32_t version, AclEntry::Permission permission,
                    Author author) const;
  Status check_remove(const std::string& path, std::int32_t version, Author author) const;
  void add(const NewNode& made);
  void write(const std::string& path, std::string data);
  void erase(const std::string& path);
  void notify(const std::string& path, WatchEvent event, const NodeAcl& acl);
  /// The list of a new node that only its creator may change.
  NodeAcl contender_acl(SessionId session) const;
  Credential credential(SessionId session) const { return sessions_.at(session).client; }
  std::int64_t next_zxid();
  void watch_over(SessionId id, Session& session);

  SimClock& clock_;
  NodeAcl parent_acl_;
  bool has_leader_ = true;
  SessionId acting_;
  Duration wall_clock_{};  ///< what it is ahead
  Tree tree_;
  static constexpr std::int64_t kFirstZxid = std::int64_t{1} << 32;
  std::int64_t zxid_ = kFirstZxid;
  struct NodeEvent {
    std::string path;
    WatchEvent event;
    NodeAcl acl;
  };
  /// While a transaction is carried out: its events, which are told when it has succeeded, and
  /// whether it has a zxid already.
  struct Progress {
    std::vector<NodeEvent> events;
    bool changes = false;
    /// How many children each parent was given beyond the end of its counter. The servers number
    /// these on, from the lowest negative number, until the transaction is committed.
    std::map<std::string, std::uint32_t, std::less<>> beyond_end;
  };
  std::optional<Progress> progress_;
  std::int64_t last_session_ = 0x100;
  std::uint64_t last_credential_ = 0;
  std::map<SessionId, Session> sessions_;
  std::vector<Server*> servers_;
};

}  // namespace zklock::model
