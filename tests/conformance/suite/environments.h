// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "conformance/suite/environment.h"
#include "zklock/testing/fake_ensemble.h"
#include "zklock/testing/fault_proxy.h"

namespace zklock::testing {

// Common to all environments of one ensemble: the list of its clients.
class SingleEnvironment : public SuiteEnvironment {
 public:
  void close(Client& client) override { client.close(); }

 protected:
  Client& keep(std::unique_ptr<Client> client);
  // Whether this is true of all clients.
  bool all_connected() const;
  bool all_idle() const;
  void close_all();
  static std::vector<std::string> in_order(std::vector<std::string> names);
  const std::vector<std::unique_ptr<Client>>& clients() const { return clients_; }

 private:
  std::vector<std::unique_ptr<Client>> clients_;
};

class RealEnvironment : public SingleEnvironment, private Realm {
 public:
  RealEnvironment() : RealEnvironment(SharedServer::hosts(), SharedServer::server()) {}
  ~RealEnvironment() override { close_all(); }  // before the proxies

  bool simulated() const override { return false; }

  Client& connect(std::chrono::milliseconds session_timeout) override;
  Client& connect_with(const std::function<void(ClientOptions&)>& edit) override;
  Client& connect_slowly(std::chrono::milliseconds delay) override;
  core::Instant now() const override { return LeaseClock::now(); }
  bool comes(const Fact& fact) const override { return eventually(fact, kTestTimeout); }

  std::vector<std::string> nodes(const std::string& path) override {
    return in_order(raw().children(path).names);
  }
  bool exists(const std::string& node) override { return raw().exists(node).rc == ZOK; }
  void create(const std::string& path) override;
  std::string enqueue(const std::string& prefix) override;
  void change(const std::string& node) override;
  void remove(const std::string& node) override;
  void remove_all(const std::string& path) override;
  void expire(Client& client) override;
  ::testing::AssertionResult nothing_left() override;
  RawClient& raw() override { return Realm::raw(); }

 protected:
  RealEnvironment(const std::string& hosts, TestServer* server) : Realm(hosts), server_(server) {}
  virtual ClientOptions client_options() const { return options(); }
  using Realm::hosts_by;
  TestServer* server() const { return server_; }
  void connect_raw_again() { raw_.reset(); }

 private:
  void add_ephemerals(const std::string& path, std::string& names);
  TestServer* server_;  // null: a server of another kind
  std::list<FaultProxy> slow_networks_;
};

// A environment on a server that may be killed. All tests of the process share it, one after the
// other.
class RestartableEnvironment : public RealEnvironment {
 public:
  RestartableEnvironment() : RestartableEnvironment(SharedServer::of_faults()) {}
  ~RestartableEnvironment() override { close_all(); }  // before the door
  void stop_servers() override;
  void start_servers() override;

 private:
  explicit RestartableEnvironment(TestServer& server)
      : RealEnvironment(server.hosts(), &server), door_({server.port()}) {}
  ClientOptions client_options() const override;

  FaultProxy door_;  // see start_behind()
};

class SimulatedEnvironment : public SingleEnvironment {
 public:
  explicit SimulatedEnvironment(FakeEnsembleOptions options = {}) : fake_(options) {}
  ~SimulatedEnvironment() override { close_all(); }

  bool simulated() const override { return true; }

  Client& connect(std::chrono::milliseconds session_timeout) override;
  core::Instant now() const override { return fake_.now(); }
  bool comes(const Fact& fact) const override;
  bool comes_in_time(const Fact& fact) const override { return fake_.advance_until(fact); }
  void pass(core::Duration duration) override { fake_.advance(duration); }
  void lose_reply_to_create(Client& client) override;

  std::vector<std::string> nodes(const std::string& path) override;
  bool exists(const std::string& node) override;
  void create(const std::string& path) override;
  std::string enqueue(const std::string& prefix) override;
  void change(const std::string& node) override;
  void remove(const std::string& node) override;
  void remove_all(const std::string& path) override;
  void expire(Client& client) override { fake_.link(client).expire_session(); }
  void stop_servers() override { fake_.stop_servers(); }
  void start_servers() override;
  ::testing::AssertionResult nothing_left() override;

 private:
  mutable FakeEnsemble fake_;
};

// For tests of many threads. To wait until all of them sleep would take long.
class RacingEnvironment : public SimulatedEnvironment {
 public:
  RacingEnvironment() : SimulatedEnvironment({.rest_limit = std::chrono::milliseconds(0)}) {}
  bool comes_in_time(const Fact& fact) const override { return comes(fact); }
};

}  // namespace zklock::testing
