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

// Where the suite plays: on real servers, or on simulated ones.
//
// | member                       | meaning                                                        |
// |------------------------------|----------------------------------------------------------------|
// | connect(session timeout)     | a connected client, which lives as long as the stage           |
// | clients_of(client)           | those of its process, one for each ensemble; it is the first   |
// | close(client)                |                                                                |
// | now(), in(d)                 | this moment, and the one d later, by the clock of the clients  |
// | comes(fact)                  | waits for a fact that needs no time to pass                    |
// | comes_in_time(fact)          | the same, while time passes: also the simulated one            |
// | let_time_pass()              | a little of it, if it does not by itself                       |
// | nodes(path), exists(node)    | what there is, in the order of the sequence numbers; but not   |
// |                              | the node that says how many permits there are                  |
// | create, enqueue, remove, ... | what others write; enqueue adds a lasting, sequential node     |
// | expire(client)               | ends its session as a timeout would                            |
// | ensemble(i)                  | one of them; what does not name one is of all, or the first    |
// | nothing_left()               | no lock node, watch, or unfinished work of any client          |
//
// What only some have throws std::logic_error on the others:
//
// | member                       | where, and what                                                |
// |------------------------------|----------------------------------------------------------------|
// | stop_servers, start_servers  | all but Scene::servers. As a crash; data and sessions stay     |
// | pass(d)                      | simulated. Time is what the test makes it                      |
// | settle()                     | simulated. Whatever needs no time is done, as far as it has    |
// |                              | been asked for by other threads                                |
// | lose_reply_to_create(client) | simulated. The reply to the next is lost, with the connection  |
// | connect_with(edit)           | real servers. With options that `edit` has changed             |
// | connect_slowly(delay)        | real servers of this kit. What the client and the server send  |
// |                              | takes so long on its way                                       |
// | raw()                        | real servers. What they say                                    |
class Stage {
 public:
  using Fact = std::function<bool()>;

  static constexpr std::chrono::milliseconds kSessionTimeout = Realm::kSessionTimeout;
  // Lives, and what it holds too, through the death of a server until that has started again.
  static constexpr std::chrono::seconds kLongSession{60};

  Stage() = default;
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual bool simulated() const = 0;

  virtual Client& connect(std::chrono::milliseconds session_timeout) = 0;
  virtual std::vector<Client*> clients_of(Client& client) { return {&client}; }
  virtual void close(Client& client) = 0;

  virtual core::Instant now() const = 0;
  Deadline in(core::Duration duration) const { return Deadline::after(now(), duration); }
  virtual bool comes(const Fact& fact) const = 0;
  bool comes_in_time(const Fact& fact);
  virtual void let_time_pass() = 0;

  virtual std::vector<std::string> nodes(const std::string& path = kPath) = 0;
  virtual bool exists(const std::string& node) = 0;
  virtual void create(const std::string& path) = 0;
  virtual std::string enqueue(const std::string& prefix) = 0;
  virtual void change(const std::string& node) = 0;
  virtual void remove(const std::string& node) = 0;
  virtual void remove_all(const std::string& path) = 0;
  virtual void expire(Client& client) = 0;
  virtual std::size_t ensembles() const { return 1; }
  virtual Stage& ensemble(std::size_t) { return *this; }
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

enum class Scene { servers, mortal_servers, simulation };

// "OnServers" or "OnSimulation"; CMakeLists.txt runs each by this.
const char* name_of(Scene scene);

// On one ensemble, or on several that know nothing of each other.
std::unique_ptr<Stage> make_stage(Scene scene, bool on_ensembles);

}  // namespace zklock::testing
