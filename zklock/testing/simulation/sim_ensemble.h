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

#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_tree.h"

namespace zklock::model {

/// The quorum side of a simulated ZooKeeper: znodes, transactions and sessions. SimCoordinator has
/// the state of a single server: watches, a connection, a lagging tree.
class SimEnsemble {
 public:
  /// A server that is notified of every transaction when it is executed.
  class Server {
   public:
    /// `acl` is the ACL of the znode. A server sends the event only to clients with READ.
    virtual void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& acl) = 0;
    virtual void on_session_gone(SessionId session) = 0;
    /// The leader continues after a pause, and has expired the sessions that were overdue.
    virtual void on_leader_resumed() {}

   protected:
    ~Server() = default;
  };

  explicit SimEnsemble(SimClock& clock) noexcept : clock_(clock) {}
  SimEnsemble(const SimEnsemble&) = delete;
  SimEnsemble& operator=(const SimEnsemble&) = delete;
  void attach(Server& server) { servers_.push_back(&server); }

  // Sessions. A session expires when it was not touched for its timeout. Timeout 0: it never
  // expires.
  SessionId open_session(Duration timeout) { return open_session(timeout, new_credential()); }
  SessionId open_session(Duration timeout, Credential client);
  /// Returns a credential that no other client has.
  Credential new_credential() noexcept { return Credential{++last_credential_}; }
  bool is_alive(SessionId session) const { return sessions_.contains(session); }
  void touch(SessionId session);
  void set_timeout(SessionId session, Duration timeout);
  /// Ends the session, as expiry and close do: one transaction deletes its ephemeral znodes.
  void end_session(SessionId session);
  std::optional<Instant> last_touch(SessionId session) const;
  std::vector<std::string> ephemerals(SessionId session) const;
  std::size_t session_count() const noexcept { return sessions_.size(); }

  /// Executes a request of a session. If the session is not alive, returns session_ended and does
  /// nothing.
  Reply apply(SessionId session, const Operation& operation);
  /// Creates a container, as the first part of a CreateContender with `makes_path`. If the session
  /// is not alive, returns session_ended and does nothing.
  Reply create_path(SessionId session, const std::string& path);

  // Writes of another author: an operator, another kind of client, another session. No ACL applies
  // to them.
  Status create(const std::string& path, std::string data = {}, SessionId owner = {},
                NodeAcl acl = {});
  Status create_container(const std::string& path);
  /// Sets whether znodes of contenders that enqueue later have READ for all clients, or only for
  /// their creator.
  void set_contenders_readable(bool readable) noexcept { contenders_are_readable_ = readable; }
  void set_exists_rule(ExistsRule rule) noexcept { exists_rule_ = rule; }
  ExistsRule exists_rule() const noexcept { return exists_rule_; }
  /// Returns the name. Returns std::nullopt if the parent is missing, the name exists, or the owner
  /// has ended.
  std::optional<std::string> create_sequential(const std::string& parent, std::string_view prefix,
                                               std::string data = {}, SessionId owner = {});
  Status set_data(const std::string& path, std::string data);
  Status set_acl(const std::string& path, NodeAcl acl);
  Status remove(const std::string& path);
  /// Sets the next sequence number under `path`.
  void set_counter(const std::string& path, std::int32_t next);
  /// Deletes the containers that had children and have none now, as the leader does in the
  /// background. Then deletes their parents if the condition holds for them. Returns the number of
  /// deleted containers.
  std::size_t reap_containers();
  /// Elects a new leader: the zxid gets a higher epoch, and each session gets its full timeout
  /// again.
  void restart();
  /// Empties the ensemble: no znodes, no sessions, and zxids from the beginning.
  void empty();
  /// The leader stands still until resume_leader() or restart(): it executes nothing, and learns of
  /// no touch.
  void pause_leader() noexcept { leader_is_paused_ = true; }
  /// The leader continues. First it expires the sessions that are overdue.
  void resume_leader();
  bool is_leader_paused() const noexcept { return leader_is_paused_; }
  /// Removes the leader. No session expires until restart().
  void lose_leader() noexcept { has_leader_ = false; }
  /// The wall clock of the ensemble jumps.
  void jump(Duration by) noexcept { wall_clock_ += by; }

  /// The session whose request or end causes the events under delivery. 0: another author.
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
  /// The client that makes a change. Without a value: an operator, to whom no ACL applies.
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
  /// Executes one write of a transaction. Stores the name of a sequential znode in `reply`.
  Status carry_out(SessionId session, const client::request::Write& write, Reply& reply);
  /// Creates a znode, and appends the sequence number to the path of `made`.
  Status make(NewNode& made, Author author);
  Status check_node(const std::string& path, std::int32_t version, AclEntry::Permission permission,
                    Author author) const;
  Status check_remove(const std::string& path, std::int32_t version, Author author) const;
  void add(const NewNode& made);
  void write(const std::string& path, std::string data);
  void erase(const std::string& path);
  void notify(const std::string& path, WatchEvent event, const NodeAcl& acl);
  /// The ACL of a new znode that only its creator can change.
  NodeAcl contender_acl(SessionId session) const;
  Credential credential(SessionId session) const { return sessions_.at(session).client; }
  std::int64_t next_zxid();
  void watch_over(SessionId id, Session& session);

  SimClock& clock_;
  bool contenders_are_readable_ = true;
  ExistsRule exists_rule_ = ExistsRule::needs_read;
  bool has_leader_ = true;
  bool leader_is_paused_ = false;
  SessionId acting_;
  Duration wall_clock_{};  ///< its lead over the clock
  Tree tree_;
  static constexpr std::int64_t kFirstZxid = std::int64_t{1} << 32;
  std::int64_t zxid_ = kFirstZxid;
  struct NodeEvent {
    std::string path;
    WatchEvent event;
    NodeAcl acl;
  };
  /// State during a transaction: its events, sent after its success, and whether it has a zxid.
  struct Progress {
    std::vector<NodeEvent> events;
    bool changes = false;
    /// For each parent, the number of children beyond the end of its counter. ZooKeeper continues
    /// the count from the lowest negative number until the transaction is committed.
    std::map<std::string, std::uint32_t, std::less<>> beyond_end;
  };
  std::optional<Progress> progress_;
  std::int64_t last_session_ = 0x100;
  std::uint64_t last_credential_ = 0;
  std::map<SessionId, Session> sessions_;
  std::vector<Server*> servers_;
};

}  // namespace zklock::model
