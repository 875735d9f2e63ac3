// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/lock_test.h"
#include "conformance/suite/live_world.h"

namespace zklock::testing {

// Where the suite plays: on real servers, and on simulated ones. Both have the same members:
//
// | member                       | meaning                                                         |
// |------------------------------|-----------------------------------------------------------------|
// | connect(session timeout)     | a connected client, which lives as long as the stage            |
// | close(client)                |                                                                 |
// | now(), in(d)                 | this moment, and the one d later, by the clock of the clients   |
// | comes(fact)                  | waits for a fact that needs no time to pass                     |
// | comes_in_time(fact)          | the same, while time passes: also the simulated one             |
// | let_time_pass()              | a little of it, if it does not by itself                        |
// | nodes(path), exists(node)    | what there is, in the order of the sequence numbers; but not    |
// |                              | the node that says how many permits there are                   |
// | create, enqueue, remove, ... | what others write; enqueue adds a lasting, sequential node      |
// | expire(client)               | ends its session as a timeout would                             |
// | stop_servers, start_servers  | as a crash; data and sessions stay. MortalStage and FakeStage   |
// | nothing_left()               | no lock node, watch, or unfinished work of any client           |

// Clients, and what is the same of all of them.
class Stage {
 public:
  static constexpr std::chrono::milliseconds kSessionTimeout = Realm::kSessionTimeout;
  // Lives through the death of a server.
  static constexpr std::chrono::seconds kLongSession{30};

  static void close(Client& client) { client.close(); }

 protected:
  Client& keep(std::unique_ptr<Client> client);
  // Of all clients.
  bool all_connected() const;
  bool all_idle() const;
  void close_all();
  static std::vector<std::string> in_order(std::vector<std::string> names);
  const std::vector<std::unique_ptr<Client>>& clients() const { return clients_; }

 private:
  std::vector<std::unique_ptr<Client>> clients_;
};

class RealStage : public Stage, public Realm {
 public:
  using Realm::connect;
  using Stage::kSessionTimeout;
  static constexpr const char* name = "OnServers";
  static constexpr bool simulated = false;

  RealStage() : RealStage(SharedServer::hosts(), SharedServer::server()) {}
  ~RealStage() { close_all(); }

  Client& connect(std::chrono::milliseconds session_timeout);
  Client& connect_as(const ClientOptions& options) { return keep(Realm::connect(options)); }
  // With options that `edit` has changed.
  template <class Edit>
  Client& connect_with(Edit edit) {
    ClientOptions edited = options();
    edit(edited);
    return connect_as(edited);
  }
  static core::Instant now() { return LeaseClock::now(); }
  static Deadline in(std::chrono::milliseconds duration) { return Deadline(duration); }
  template <class Fact>
  bool comes(Fact fact) const {
    return eventually(fact, kPatience);
  }
  template <class Fact>
  bool comes_in_time(Fact fact) const {
    return eventually(fact, kPatience);
  }
  static void let_time_pass() {}

  std::vector<std::string> nodes(const std::string& path = kPath) {
    return in_order(raw().children(path).names);
  }
  bool exists(const std::string& node) { return raw().exists(node).rc == ZOK; }
  void create(const std::string& path);
  std::string enqueue(const std::string& prefix);
  void change(const std::string& node);
  void remove(const std::string& node);
  void remove_all(const std::string& path);
  void expire(const Client& client);
  ::testing::AssertionResult nothing_left();

 protected:
  RealStage(const std::string& hosts, ZooKeeperServer* server) : Realm(hosts), server_(server) {}
  ZooKeeperServer* server() const { return server_; }

 private:
  void add_ephemerals(const std::string& path, std::string& names);
  ZooKeeperServer* server_;  // null: not of this kit
};

// On a server that may be killed. One for all tests of the process, which run one after the other.
class MortalStage : public RealStage {
 public:
  MortalStage();
  void stop_servers();
  void start_servers();
};

class FakeStage : public Stage {
 public:
  static constexpr const char* name = "OnSimulation";
  static constexpr bool simulated = true;

  FakeStage();
  ~FakeStage() { close_all(); }

  Client& connect(std::chrono::milliseconds session_timeout);
  core::Instant now() const { return live_.now(); }
  Deadline in(core::Duration duration) const { return Deadline::after(live_.now(), duration); }
  template <class Fact>
  bool comes(Fact fact) const {
    return eventually(fact, kPatience, std::chrono::milliseconds(1));
  }
  template <class Fact>
  bool comes_in_time(Fact fact) {
    const auto fact_or_later = [&] {
      if (fact()) return true;
      let_time_pass();
      return false;
    };
    return comes(fact_or_later);
  }
  void let_time_pass() { pass(kSessionTimeout / 100); }
  // Only here: time is what the test makes it.
  void pass(core::Duration duration) { live_.pass(duration); }
  // Whatever needs no time has happened, as far as other threads have asked for it.
  void settle() { pass(core::Duration::zero()); }
  // Only here: the reply to the next create is lost, with the connection.
  void lose_reply_to_create(const Client& client);

  std::vector<std::string> nodes(const std::string& path = kPath);
  bool exists(const std::string& node);
  void create(const std::string& path);
  std::string enqueue(const std::string& prefix);
  void change(const std::string& node);
  void remove(const std::string& node);
  void remove_all(const std::string& path);
  void expire(const Client& client);
  void stop_servers();
  void start_servers();
  ::testing::AssertionResult nothing_left();

 private:
  std::size_t index_of(const Client& client) const;
  std::string remains();

  LiveWorld live_;
};

}  // namespace zklock::testing
