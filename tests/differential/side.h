// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/differential/script.h"
#include "zklock/client/port/coordinator.h"

namespace zklock::differential {

using client::Coordinator;
using core::SessionId;
using core::Status;

/// One comparable observation. Each '#' of the text stands for a zxid, in order. The two sides have
/// different zxids, so only their order and equality are compared.
struct Fact {
  std::string text;
  std::vector<std::int64_t> zxids = {};
  std::string kind = {};  ///< for counting: the reply or event
};

/// An operation of a script with its path on one side.
struct OperationAt {
  std::string tag;   ///< its step and its index
  std::string kind;  ///< in words
  std::string path;  ///< on this side
};

/// Records the observations of the clients of one side.
///
/// Thread-safety: all members, from any thread.
class Journal {
 public:
  /// Forgets everything except the current session of every client. Events and replies of earlier
  /// scripts are no longer recorded.
  void begin_script();
  std::uint64_t script() const;

  // Called by the clients' coordinators.
  void connected(std::size_t client, const client::SessionInfo& session);
  void disconnected(std::size_t client);
  void ended(std::size_t client, Status why);
  void answered_by_quorum(std::size_t client);
  /// Discards the quorum's answers since take(): they belong to no request of the script.
  void forget_quorum(std::size_t client);
  void event(std::uint64_t script, std::size_t client, const OperationAt& watch,
             client::request::WatchEvent event);

  void expect_reply(std::size_t client);
  void replied(std::uint64_t script, std::size_t client, const client::Reply& reply,
               const OperationAt& operation);
  void replied_to_fence(std::size_t client);

  /// Blocks until the connected clients have every expected reply. Returns false if that takes too
  /// long.
  bool wait_for_replies() const;
  bool has_all_replies() const;
  /// Waits until `client` is connected, or until it is not.
  bool wait_for_connection(std::size_t client, bool connected) const;
  /// Waits until `client` has had more than `count` sessions.
  bool wait_for_session(std::size_t client, std::size_t count) const;
  std::size_t sessions(std::size_t client) const;
  SessionId current_session(std::size_t client) const;
  SessionId first_session(std::size_t client) const;
  /// Records no events of this client until take().
  void ignore_events(std::size_t client);

  /// Returns the name that the server chose in the reply of that tag; empty if there is none.
  std::string name_of(const std::string& tag) const;

  /// Returns the facts of all clients since the last call.
  std::vector<Fact> take();

 private:
  struct Seen {
    std::vector<SessionId> sessions;
    std::vector<Fact> facts;
    std::size_t expected = 0;  ///< replies
    bool is_connected = false;
    bool quorum = false;
    bool ignores_events = false;
    std::set<std::string> unreadable_paths;  ///< of watches whose events may not come
  };
  bool has_all() const;
  std::string label(SessionId session) const;
  Fact fact_of(const client::Reply& reply, const OperationAt& operation);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_:
  std::uint64_t script_ = 0;
  std::array<Seen, kClients> seen_;
  std::map<SessionId, std::string> labels_;
  std::map<std::string, std::string> names_;         ///< chosen by the server, by tag
  std::map<std::int64_t, std::int64_t> created_ms_;  ///< by czxid
};

/// Records the session events of one coordinator in the journal.
class SessionEventLog final : public client::SessionObserver {
 public:
  SessionEventLog(Journal& journal, std::size_t client) : journal_(journal), client_(client) {}
  void on_connected(const client::SessionInfo& session) override {
    journal_.connected(client_, session);
  }
  // The number of broken connections while a session is ended from outside is not compared.
  void on_suspended(SessionId /*session*/) override { journal_.disconnected(client_); }
  void on_ended(SessionId /*session*/, Status why) override { journal_.ended(client_, why); }
  void on_answered(SessionId /*session*/, core::Instant /*sent_at*/, core::AnsweredBy by) override {
    if (by == core::AnsweredBy::quorum) journal_.answered_by_quorum(client_);
  }

 private:
  Journal& journal_;
  const std::size_t client_;
};

/// One implementation of ZooKeeper with the clients of a script: the simulated one or a real
/// server.
class Side {
 public:
  virtual ~Side() = default;

  /// Creates an empty directory for a script. All clients are connected afterwards.
  virtual void begin(const Script& script) = 0;
  virtual void end() = 0;
  virtual Coordinator& coordinator(std::size_t client) = 0;
  /// Runs until every expected reply has arrived. Returns false if one did not arrive.
  virtual bool settle() = 0;
  /// Closes the client, and connects another one instead.
  virtual void close(std::size_t client) = 0;
  /// Ends the session of the client from outside. Returns when the client has a new one.
  virtual void expire(std::size_t client) = 0;
  /// Breaks the connection of the client. Returns when the client knows.
  virtual void disconnect(std::size_t client) = 0;
  /// Returns when the client is connected again.
  virtual void reconnect(std::size_t client) = 0;

  // Requests of an operator, which no ACL restricts.
  virtual Status create(const std::string& path, const std::string& data,
                        std::int32_t everyone) = 0;
  virtual Status set_data(const std::string& path, const std::string& data) = 0;
  virtual Status set_acl(const std::string& path, std::int32_t everyone) = 0;
  virtual Status remove(const std::string& path) = 0;
  /// Returns the names of the children, sorted.
  virtual std::vector<std::string> children(const std::string& path) = 0;

  Journal& journal() noexcept { return journal_; }
  /// Returns the path of this side for a path of the script.
  std::string path(const std::string& text) const {
    return text.starts_with("/end") ? end_directory_ + text.substr(4) : directory_ + text;
  }

 protected:
  Journal journal_;
  std::array<SessionEventLog, kClients> session_logs_{
      SessionEventLog{journal_, 0}, SessionEventLog{journal_, 1}, SessionEventLog{journal_, 2}};
  std::string directory_;
  std::string end_directory_;  ///< the parent whose counter is near its end
};

}  // namespace zklock::differential
