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

struct Node {
  std::string data;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;  ///< of the last child that came or went
  std::int32_t version = 0;
  std::vector<AclEntry> acl = {{AclEntry::all, "world", "anyone"}};
  std::int32_t acl_version = 0;
  std::int64_t created_ms = 0;
  SessionId owner;  ///< of an ephemeral node; 0: it is none
  bool container = false;
  bool permits_delete = true;         ///< of its children, to clients: part of its ACL
  std::int32_t counter = 0;           ///< how many children it was given: the next sequence number
  std::vector<std::string> children;  ///< names, in no order that anybody may rely on
};

/// The nodes by path. A value, so that a server that stays behind can keep the old one.
class Tree {
 public:
  Tree() { nodes_.try_emplace("/"); }
  const Node* find(std::string_view path) const;
  Node* find(std::string_view path);
  /// Both want the parent to exist; neither looks at anything else.
  Node& add(std::string path, Node node);
  void remove(const std::string& path);
  const std::map<std::string, Node, std::less<>>& nodes() const noexcept { return nodes_; }

 private:
  std::map<std::string, Node, std::less<>> nodes_;
};

/// What a server answers from its own tree: everything but quorum operations.
Reply read(const Tree& tree, const Operation& operation);

/// The quorum side of a simulated ZooKeeper: nodes, transactions, sessions. What a single server
/// has of its own (watches, a connection, a tree that lags) is with its client, in SimCoordinator.
class SimEnsemble {
 public:
  /// A server that is told of every transaction as it is carried out.
  class Server {
   public:
    virtual void on_node_event(const std::string& path, WatchEvent event) = 0;
    virtual void on_session_gone(SessionId session) = 0;

   protected:
    ~Server() = default;
  };

  explicit SimEnsemble(SimClock& clock) noexcept : clock_(clock) {}
  SimEnsemble(const SimEnsemble&) = delete;
  SimEnsemble& operator=(const SimEnsemble&) = delete;
  void attach(Server& server) { servers_.push_back(&server); }

  // Sessions. One that is not touched for its timeout expires; timeout 0: never.
  SessionId open_session(Duration timeout);
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

  // What somebody else writes: an operator, another kind of client, another session.
  Status create(const std::string& path, std::string data = {}, SessionId owner = {});
  Status create_container(const std::string& path);
  /// The ACL of containers that are created from now on.
  void set_container_acl(std::vector<AclEntry> acl) { container_acl_ = std::move(acl); }
  /// The name, or nothing when the parent is missing or the name is taken (see next_name).
  std::optional<std::string> create_sequential(const std::string& parent, std::string_view prefix,
                                               std::string data = {}, SessionId owner = {});
  Status set_data(const std::string& path, std::string data);
  /// Clients have no identity here: no ACL refuses a request, but GetAcl of a znode that world:anyone
  /// may neither read nor administrate is answered no_auth.
  Status set_acl(const std::string& path, std::vector<AclEntry> acl);
  Status remove(const std::string& path);
  /// Changes the ACL of `parent`: whether clients may delete its children. Servers check that before
  /// they look for the child.
  void permit_delete(const std::string& parent, bool permitted);
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
    Instant last_touch;
    std::vector<std::string> ephemerals;
    TimerId timer{};
  };
  Reply carry_out_request(SessionId session, const Operation& operation);
  Reply create_contender(SessionId session, const client::request::CreateContender& request);
  Status create_parents(const std::string& path);
  Reply transaction(SessionId session, const client::request::Transaction& request);
  /// What was made goes into `reply`, where the servers choose its name.
  Status carry_out(SessionId session, const client::request::Write& write, Reply& reply);
  Status check_version(const std::string& path, std::int32_t version) const;
  Status check_create(const std::string& path) const;
  Status check_remove(const std::string& path) const;
  Status remove_by_client(const std::string& path);
  Node& add(std::string path, std::string data, SessionId owner, bool container);
  void erase(const std::string& path);
  void notify(const std::string& path, WatchEvent event);
  std::int64_t next_zxid();
  void watch_over(SessionId id, Session& session);

  SimClock& clock_;
  std::vector<AclEntry> container_acl_ = Node{}.acl;
  bool has_leader_ = true;
  SessionId acting_;
  Duration wall_clock_{};  ///< what it is ahead
  Tree tree_;
  static constexpr std::int64_t kFirstZxid = std::int64_t{1} << 32;
  std::int64_t zxid_ = kFirstZxid;
  /// While a transaction is carried out: its events, which are told when it has succeeded, and
  /// whether it has a zxid already.
  struct Progress {
    std::vector<std::pair<std::string, WatchEvent>> events;
    bool changes = false;
  };
  std::optional<Progress> progress_;
  std::int64_t last_session_ = 0x100;
  std::map<SessionId, Session> sessions_;
  std::vector<Server*> servers_;
};

}  // namespace zklock::model
