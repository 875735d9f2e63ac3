// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/drained_log.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/testing/test_server.h"

namespace zklock::client {

namespace rq = request;

/// The timeout of every wait.
inline constexpr std::chrono::seconds kTestTimeout{60};

/// One call of the coordinator to its observers and handlers.
struct Event {
  enum class Kind { connected, suspended, ended, answered, reply, watch };
  Kind kind{};
  SessionId session{};
  Status status = Status::ok;
  int tag = 0;                                     ///< of a reply or watch
  bool flag = false;                               ///< connected: is_new; answered: by the quorum
  core::AnsweredBy by = core::AnsweredBy::server;  ///< answered
  Instant time{};                                  ///< connected: attempt_began; answered: sent_at
  core::Duration timeout{};
  rq::WatchEvent change{};
};

/// Records the events in their order, and waits for them.
class Journal : public SessionObserver {
 public:
  void add(const Event& event) {
    const std::lock_guard guard(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }

  std::vector<Event> events() const {
    const std::lock_guard guard(mutex_);
    return events_;
  }

  template <typename Predicate>
  std::size_t count(Predicate predicate) const {
    const std::lock_guard guard(mutex_);
    return count_locked(predicate);
  }
  std::size_t count(Event::Kind kind) const {
    return count([kind](const Event& event) { return event.kind == kind; });
  }

  /// Waits until `number` events satisfy the predicate.
  template <typename Predicate>
  [[nodiscard]] bool wait(std::size_t number, Predicate predicate) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestTimeout, [&] { return count_locked(predicate) >= number; });
  }
  [[nodiscard]] bool wait(std::size_t number, Event::Kind kind) const {
    return wait(number, [kind](const Event& event) { return event.kind == kind; });
  }

  std::vector<Event> of_kind(Event::Kind kind) const {
    std::vector<Event> chosen = events();
    std::erase_if(chosen, [kind](const Event& event) { return event.kind != kind; });
    return chosen;
  }
  Event last(Event::Kind kind) const {
    const std::lock_guard guard(mutex_);
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
      if (event->kind == kind) return *event;
    }
    throw std::logic_error("no such event");
  }

  void on_connected(const SessionInfo& session) override {
    Event event{Event::Kind::connected, session.id};
    event.flag = session.is_new;
    event.time = session.attempt_began;
    event.timeout = session.timeout;
    add(event);
  }
  void on_suspended(SessionId session) override { add({Event::Kind::suspended, session}); }
  void on_ended(SessionId session, Status why) override { add({Event::Kind::ended, session, why}); }
  void on_answered(SessionId session, Instant sent_at, core::AnsweredBy by) override {
    Event event{Event::Kind::answered, session};
    event.time = sent_at;
    event.flag = by == core::AnsweredBy::quorum;
    event.by = by;
    add(event);
  }

 private:
  template <typename Predicate>
  std::size_t count_locked(Predicate& predicate) const {
    std::size_t number = 0;
    for (const Event& event : events_) number += predicate(event) ? 1U : 0U;
    return number;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;  // guarded by mutex_
};

/// A coordinator whose events are recorded in a journal, and calls that block until their reply.
class Probe {
 public:
  explicit Probe(ClientOptions options)
      : options_(std::move(options)), coordinator_(make_zookeeper_coordinator(options_, *log_)) {
    coordinator_->start(journal_);
  }
  explicit Probe(const std::string& hosts) : Probe(with(hosts)) {}
  ~Probe() { coordinator_->close(); }

  static ClientOptions with(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = std::chrono::seconds(10);
    options.connection_timeout = std::chrono::seconds(60);
    options.retry_delay_max = std::chrono::milliseconds(500);
    return options;
  }

  Coordinator& operator*() { return *coordinator_; }
  Coordinator* operator->() { return coordinator_.get(); }
  Journal& journal() { return journal_; }

  /// Returns the session of the latest connection. Blocks until there is one.
  SessionId session() {
    if (!journal_.wait(1, Event::Kind::connected)) throw std::runtime_error("not connected");
    return journal_.last(Event::Kind::connected).session;
  }

  /// Sends a request and does not wait. The journal records the reply with `tag`.
  RequestId send(int tag, Operation operation, SessionId session = {},
                 bool fail_if_disconnected = false) {
    return coordinator_->submit({std::move(operation), session, fail_if_disconnected},
                                [this, tag](const Reply& reply) {
                                  Event event{Event::Kind::reply, reply.session, reply.status};
                                  event.tag = tag;
                                  journal_.add(event);
                                });
  }

  Reply call(Operation operation, SessionId session = {}) {
    return call_with_id(std::move(operation), session).second;
  }

  std::pair<RequestId, Reply> call_with_id(Operation operation, SessionId session = {}) {
    struct Box {
      std::mutex mutex;
      std::condition_variable changed;
      bool full = false;
      Reply reply;
    };
    const auto box = std::make_shared<Box>();
    const RequestId id = coordinator_->submit({std::move(operation), session}, [box](Reply reply) {
      const std::lock_guard guard(box->mutex);
      box->reply = std::move(reply);
      box->full = true;
      box->changed.notify_all();
    });
    std::unique_lock lock(box->mutex);
    if (!box->changed.wait_for(lock, kTestTimeout, [&] { return box->full; })) {
      throw std::runtime_error("no reply");
    }
    return {id, std::move(box->reply)};
  }

  /// Creates a contender below `parent` and returns its path.
  std::string contend(const std::string& parent, const std::string& data = "x") {
    const Reply reply = call(rq::CreateContender{parent, "lock-", data});
    if (reply.status != Status::ok) throw std::runtime_error("create: " + reply.detail);
    return parent + "/" + reply.name;
  }

  /// Returns a watch request for a znode. The journal records its events with `tag`.
  template <typename Operation = rq::GetAndWatch>
  Operation watch(int tag, const std::string& path) {
    return {path, [this, tag](SessionId session, rq::WatchEvent change) {
              Event event{Event::Kind::watch, session};
              event.tag = tag;
              event.change = change;
              journal_.add(event);
            }};
  }

 private:
  ClientOptions options_;
  Journal journal_;
  const DrainedLog log_{options_};
  std::shared_ptr<Coordinator> coordinator_;
};

/// Returns a new server that serves.
inline std::unique_ptr<testing::TestServer> serving(testing::TestServerOptions options = {}) {
  auto server = std::make_unique<testing::TestServer>(std::move(options));
  server->start();
  if (!server->wait_until_serving()) throw std::runtime_error("no server: " + server->log());
  return server;
}

/// Starts the server again.
inline void restart(testing::TestServer& server) {
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
}

inline ClientOptions with_timeout(const testing::TestServer& server, std::chrono::seconds timeout) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = timeout;
  return options;
}

// The session survives a restart, even on a busy machine.
inline ClientOptions outlasting_a_restart(const testing::TestServer& server) {
  return with_timeout(server, std::chrono::seconds(60));
}

}  // namespace zklock::client
