// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/lock_test.h"
#include "zklock/core/session.h"

namespace zklock::testing {

// The environment in which the suite runs: real servers or a FakeEnsemble.
//
// | member                       | meaning                                                        |
// |------------------------------|----------------------------------------------------------------|
// | connect(session timeout)     | a connected client, which lives as long as the environment           |
// | clients_of(client)           | the clients of its process, one for each ensemble              |
// | close(client)                | closes the client                                              |
// | now(), in(d)                 | the time now, and d later, by the clock of the clients         |
// | comes(fact)                  | waits for a fact that needs no time to pass                    |
// | comes_in_time(fact)          | waits for a fact while time passes, also on the simulation     |
// | nodes(path), exists(node)    | the children in the order of their sequence numbers, without   |
// |                              | the `count` znode of a semaphore and the hold markers          |
// | create, enqueue, remove, ... | writes of another client; enqueue creates a persistent,        |
// |                              | sequential znode                                               |
// | expire(client)               | ends its session as a timeout would                            |
// | ensemble(i)                  | one ensemble; other members act on all, or query the first     |
// | nothing_left()               | no lock znode, watch or pending work of any client is left     |
//
// Some members throw std::logic_error on other environments than these:
//
// | member                       | environments and meaning                                             |
// |------------------------------|----------------------------------------------------------------|
// | stop_servers, start_servers  | all but EnvironmentKind::servers. Like a crash; data and sessions stay   |
// | pass(d)                      | simulated. Moves the time by d                                 |
// | settle()                     | simulated. Executes all requests of other threads so far, and  |
// |                              | all work that needs no time to pass                            |
// | lose_reply_to_create(client) | simulated. The next create loses its reply and the connection  |
// | connect_with(edit)           | real servers. `edit` changes the options first                 |
// | connect_slowly(delay)        | real servers of this kit. Delays all bytes of the connection   |
// |                              | in both directions                                             |
// | raw()                        | real servers. A client that reads the true state               |
class SuiteEnvironment {
 public:
  using Fact = std::function<bool()>;

  static constexpr std::chrono::milliseconds kSessionTimeout = Realm::kSessionTimeout;
  // A session of this timeout, and its holds, survive the death of a server until its restart.
  static constexpr std::chrono::seconds kLongSession{60};

  SuiteEnvironment() = default;
  virtual ~SuiteEnvironment() = default;
  SuiteEnvironment(const SuiteEnvironment&) = delete;
  SuiteEnvironment& operator=(const SuiteEnvironment&) = delete;

  virtual bool simulated() const = 0;

  virtual Client& connect(std::chrono::milliseconds session_timeout) = 0;
  virtual std::vector<Client*> clients_of(Client& client) { return {&client}; }
  virtual void close(Client& client) = 0;

  virtual core::Instant now() const = 0;
  Deadline in(core::Duration duration) const { return Deadline::after(now(), duration); }
  virtual bool comes(const Fact& fact) const = 0;
  virtual bool comes_in_time(const Fact& fact) const { return comes(fact); }

  virtual std::vector<std::string> nodes(const std::string& path = kPath) = 0;
  virtual bool exists(const std::string& node) = 0;
  virtual void create(const std::string& path) = 0;
  virtual std::string enqueue(const std::string& prefix) = 0;
  virtual void change(const std::string& node) = 0;
  virtual void remove(const std::string& node) = 0;
  virtual void remove_all(const std::string& path) = 0;
  virtual void expire(Client& client) = 0;
  virtual std::size_t ensembles() const { return 1; }
  virtual SuiteEnvironment& ensemble(std::size_t) { return *this; }
  virtual ::testing::AssertionResult nothing_left() = 0;

  virtual void stop_servers();
  virtual void start_servers();
  virtual void pass(core::Duration duration);
  void settle() { pass(core::Duration::zero()); }
  virtual void lose_reply_to_create(Client& client);
  virtual Client& connect_with(const std::function<void(ClientOptions&)>& edit);
  virtual Client& connect_slowly(std::chrono::milliseconds delay);
  virtual RawClient& raw();
};

enum class EnvironmentKind {
  servers,
  restartable_servers,
  simulation,
  racing_simulation,  // requests are executed while threads run, and no time passes
};

// "OnServers", "OnSimulation" or "OnRacingSimulation". CMakeLists.txt selects tests by this suffix.
const char* name_of(EnvironmentKind environment);

// Makes a environment of one ensemble, or of several independent ensembles.
std::unique_ptr<SuiteEnvironment> make_environment(EnvironmentKind environment, bool on_ensembles);

}  // namespace zklock::testing
