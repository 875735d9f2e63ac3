// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/world.h"
#include "zklock/hold.h"
#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::model {

/// What came of one acquiring call.
struct CallResult {
  std::size_t client = 0;
  Owner owner;
  int outcomes = 0;  ///< must end at 1
  Hold hold;
  std::optional<Error> error;
  FencingToken token;  ///< of the grant, also after the release
  std::string node;    ///< of the grant
  core::CountKind kind = core::CountKind::hold;
  std::int32_t all = 1;  ///< permits, where the grant is of some of a fixed number
  std::chrono::milliseconds lock_delay = {};
  std::optional<std::size_t> counts = {};  ///< where that is shared: how often it was said before
  bool granted() const noexcept { return token.zxid != 0; }
};

/// The production engine, one client core for every simulated client, and the invariants that hold
/// at every moment whatever happens:
///
/// | name  | checked                                                                        |
/// |-------|--------------------------------------------------------------------------------|
/// | G1    | the token of a grant is above those of all before that exclude it; no two      |
/// |       | nodes have the same, nor two owners                                            |
/// | G2    | holds that say `held` or `suspended` may be together: one that is exclusive,   |
/// |       | or readers, or permits, no more than there are; where that number is shared:   |
/// |       | with those before it, no more than there ever were since it was wanted         |
/// | G3    | a hold that once said lost never says anything else; its stop_token fires once |
/// | delay | nobody is granted while a marker is left of somebody who is not there; who is  |
/// |       | granted with a lock delay has left one                                         |
/// | G5    | at_rest(): no node, watch, interest, map entry, background work is left        |
/// | nodes | never two of one contender                                                     |
/// | calls | every call ends exactly once                                                   |
class LockWorld {
 public:
  explicit LockWorld(std::size_t clients, ClientOptions options = {}, bool announces = true,
                     std::size_t creates_at_once = recipes::ClientCore::most_creates_at_once);
  ~LockWorld();
  LockWorld(const LockWorld&) = delete;
  LockWorld& operator=(const LockWorld&) = delete;

  static constexpr const char* path = "/locks/a";
  /// As the clients are told. Not the default.
  static constexpr std::chrono::microseconds stay_awake{700};

  World& world() noexcept { return world_; }
  recipes::ClientCore& core(std::size_t c) { return *cores_.at(c); }
  std::shared_ptr<recipes::LockEngine> engine(std::size_t c, const char* lock = path);

  /// All clients connected, and nothing under way.
  void connect_all();
  /// As long as the world is there, or until that is ended, there is a public object on the path.
  void use(std::size_t client);
  void end_use(std::size_t client);

  struct Request {
    Owner owner = Owner::unique();
    std::optional<Duration> timeout = std::nullopt;  ///< none: never; zero: a single attempt
    core::CountKind kind = core::CountKind::hold;
    bool queue_again = true;
    core::HoldLimit limit = {};
    std::shared_ptr<recipes::LockLine> listener = nullptr;
    core::QueueRule rule = core::QueueRule::mutex();
    core::Seldom<core::QueueRule> gate = {};
    std::chrono::milliseconds lock_delay = {};
    core::LocalTerms local = {};
  };
  static Request to_write(Owner owner = Owner::unique());
  static Request to_read(Owner owner = Owner::unique());
  static Request permits(std::int32_t wanted, std::int32_t all);
  static Request at_gate(std::int32_t weight, Owner owner = Owner::unique());
  /// Of a number that is kept on the servers.
  static Request shared_permits(std::int32_t wanted, std::int32_t initial);
  /// Makes it `number`, as somebody else.
  void say_permits(std::int32_t number);
  static std::string count_path();
  /// Which call: an index for the members below.
  std::size_t acquire(std::size_t client, Request request);
  std::size_t acquire(std::size_t client) { return acquire(client, Request{}); }
  void cancel(std::size_t call);
  void release(std::size_t call);
  CallResult& call(std::size_t i) { return *calls_.at(i); }
  std::size_t calls() const noexcept { return calls_.size(); }
  std::size_t lost_told(std::size_t call) const { return *lost_told_.at(call); }

  /// The names of the contenders' nodes under the lock, and of their markers, in no order.
  std::vector<std::string> nodes() const;
  /// How many grants are valid.
  std::size_t held() const;
  /// Empty, or the first invariant that does not hold at this moment.
  std::string violation();
  /// The same of what must be so when all calls have ended and all holds were released.
  std::string violation_at_rest();

 private:
  struct Watcher {
    std::shared_ptr<std::size_t> told;
    void operator()() const noexcept { ++*told; }
  };
  void ended(std::size_t index, recipes::Outcome outcome);
  Access access_of(const CallResult& call) const;
  void check_token(const CallResult& granted);
  void check_count(const CallResult& granted);
  void check_delay(const CallResult& granted);
  std::string violation_of_exclusion() const;
  std::string violation_of_nodes() const;

  mutable World world_;
  std::vector<std::shared_ptr<recipes::ClientCore>> cores_;
  std::map<std::size_t, std::shared_ptr<recipes::LockEngine>> used_;  ///< by client
  std::vector<std::unique_ptr<CallResult>> calls_;
  std::vector<std::weak_ptr<recipes::AcquireCall>> waiting_;  ///< by call
  std::vector<std::shared_ptr<std::size_t>> lost_told_;
  std::vector<std::unique_ptr<std::stop_callback<Watcher>>> watchers_;
  std::vector<bool> said_lost_;
  std::vector<std::int32_t> said_;     ///< of shared numbers of permits, in order
  FencingToken last_token_;            ///< the highest that was granted
  FencingToken last_exclusive_token_;  ///< of those that exclude all others
  std::string violation_;
};

}  // namespace zklock::model
