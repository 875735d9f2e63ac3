// SPDX-License-Identifier: Apache-2.0
// All interleavings of two clients' contenders, with one acquire and one release each, and with one
// fault at each point.
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

enum class Fault {
  none,
  reply_lost,    ///< the next request's reply is lost
  request_lost,  ///< the next request is lost
  expired,       ///< disconnected until the session has expired
  paused,        ///< stopped until the session has expired
  disconnected,  ///< the connection breaks here
  cancelled,     ///< the caller cancels
};
constexpr Fault kAllFaults[] = {Fault::reply_lost, Fault::request_lost, Fault::expired,
                                Fault::paused,     Fault::disconnected, Fault::cancelled};

const char* name(Fault fault) {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::reply_lost: return "reply lost, applied";
    case Fault::request_lost: return "request lost, not applied";
    case Fault::expired: return "session expired";
    case Fault::paused: return "paused until expired";
    case Fault::disconnected: return "disconnected";
    case Fault::cancelled: return "cancelled";
  }
  return "";
}

/// A step that can be taken next. After each step, every client processes all its messages: that
/// affects no other client before the server takes its next request.
struct Choice {
  enum class Kind { serve, release, fault, reconnect } kind;
  std::size_t client = 0;
  Fault fault = Fault::none;
  std::size_t call = 0;

  std::string text() const {
    static constexpr const char* kKinds[] = {"serve", "release", "fault", "reconnect"};
    std::string t = std::string(kKinds[static_cast<int>(kind)]) + " " + std::to_string(client);
    if (call > 1) t += " (the other)";
    return kind == Kind::fault ? t + " (" + name(fault) + ")" : t;
  }
};

/// The requests of the two contenders. `nested` is another request of the first owner, which
/// already holds and whose znode covers it. `beside` is another contender of the first client.
struct Scenario {
  std::array<LockWorld::Request, 2> of = {};
  std::optional<LockWorld::Request> nested = std::nullopt;
  std::optional<LockWorld::Request> beside = std::nullopt;
  std::size_t creates_at_once = detail::CreateLimiter::kMostAtOnce;
  /// The first contender holds already, and the create of its hold marker is sent.
  bool is_long_held = false;
};

/// A run of the two contenders along a sequence of choices.
class Run {
 public:
  explicit Run(const Scenario& scenario) : lock_(2, {}, true, scenario.creates_at_once) {
    lock_.connect_all();
    // The parent exists, except in runs that test its creation.
    lock_.world().ensemble().create_container("/locks");
    lock_.world().ensemble().create_container(LockWorld::kPath);
    lock_.use(0);
    lock_.acquire(0, scenario.of[0]);
    if (scenario.nested) lock_.world().run_all();
    if (scenario.is_long_held) hold_until_marking();
    lock_.acquire(1, scenario.of[1]);
    if (scenario.nested) lock_.acquire(0, *scenario.nested);
    if (scenario.beside) lock_.acquire(0, *scenario.beside);
    settle();
  }

  std::vector<Choice> choices(bool may_fault) {
    std::vector<Choice> enabled;
    for (std::size_t c = 0; c < 2; ++c) {
      if (lock_.world().client(c).can_serve()) {
        enabled.push_back({Choice::Kind::serve, c});
      } else if (!lock_.world().client(c).is_connected()) {
        enabled.push_back({Choice::Kind::reconnect, c});
      }
      bool over = true;
      for (std::size_t i = 0; i < lock_.calls(); ++i) {
        const CallResult& call = lock_.call(i);
        if (call.client != c) continue;
        if (call.granted() && call.hold) enabled.push_back({Choice::Kind::release, c, {}, i});
        over = over && call.outcomes > 0 && !call.hold;
      }
      if (!may_fault || (over && !lock_.has_work(c))) continue;
      for (const Fault fault : kAllFaults) enabled.push_back({Choice::Kind::fault, c, fault, c});
      const bool other_waits = c == 0 && lock_.calls() > 2 && lock_.call(2).outcomes == 0;
      if (other_waits) enabled.push_back({Choice::Kind::fault, c, Fault::cancelled, 2});
    }
    return enabled;
  }

  void take(const Choice& choice) {
    World& world = lock_.world();
    log_[choice.client] += choice.text();
    switch (choice.kind) {
      case Choice::Kind::serve: world.run({Step::Kind::serve, choice.client}); break;
      case Choice::Kind::release: lock_.release(choice.call); break;
      case Choice::Kind::reconnect: world.reconnect(choice.client); break;
      case Choice::Kind::fault: strike(choice); break;
    }
    settle();
  }

  /// Runs everything to its end. Returns what is wrong then, or an empty string.
  std::string finish() {
    for (int round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < lock_.calls(); ++i) lock_.release(i);
      for (std::size_t c = 0; c < 2; ++c) {
        if (!lock_.world().client(c).is_connected()) lock_.world().reconnect(c);
      }
      lock_.world().run_for(2s);
    }
    if (!lock_.nodes().empty()) clear();
    return lock_.violation_at_rest();
  }
  std::string violation() { return violation_.empty() ? lock_.violation() : violation_; }

  /// Runs with equal pictures continue equally. In both, the ensemble has equal znodes. Each client
  /// took equal steps in an equal order, and sent equal requests.
  std::string picture() {
    std::string text;
    for (const auto& [path, node] : lock_.world().ensemble().tree().nodes()) {
      text += path + "=" + std::to_string(node.owner.value) + ",";
    }
    for (std::size_t c = 0; c < 2; ++c) {
      text += "|" + log_[c];
      for (std::size_t i = 0; i < lock_.calls(); ++i) {
        if (lock_.call(i).client == c) text += call_picture(i);
      }
      for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
        text += std::to_string(lock_.world().client(c).requests(OperationKind{kind})) + ".";
      }
    }
    return text;
  }

 private:
  void hold_until_marking() {
    lock_.world().run_for(2'900ms);  // a little shorter than the age of a marked hold
    while (lock_.world().client(0).requests(OperationKind::transaction) == 0) {
      lock_.world().run({Step::Kind::timer});
    }
  }

  /// Acquires and releases the lock once more, which deletes what lost contenders left.
  void clear() {
    const std::size_t call = lock_.acquire(0);
    lock_.world().run_for(kLongestDelay);
    lock_.release(call);
    lock_.world().run_for(2s);
  }

  void strike(const Choice& choice) {
    World& world = lock_.world();
    const std::size_t c = choice.client;
    switch (choice.fault) {
      case Fault::none: break;
      case Fault::reply_lost: world.lose_reply(c); break;
      case Fault::request_lost: world.lose_request(c); break;
      case Fault::expired:
        world.disconnect(c);
        world.run_for(kOutlivesAnySession);
        break;
      case Fault::paused:
        world.pause(c);
        world.run_for(kOutlivesAnySession);
        violation_ = lock_.violation();
        world.resume(c);
        break;
      case Fault::disconnected: world.disconnect(c, OnTheWay::dropped); break;
      case Fault::cancelled: lock_.cancel(choice.call); break;
    }
  }

  void settle() {
    World& world = lock_.world();
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t c = 0; c < 2; ++c) {
        for (const auto kind : {Step::Kind::receive, Step::Kind::task}) {
          const bool can = kind == Step::Kind::receive ? world.client(c).can_receive()
                                                       : !world.dispatcher(c).empty();
          if (!can) continue;
          world.run({kind, c});
          busy = true;
        }
      }
    }
  }

  std::string call_picture(std::size_t i) {
    const CallResult& call = lock_.call(i);
    return "|" + std::to_string(call.outcomes) + (call.hold ? "h" : "-") + call.node +
           (call.error ? call.error->what() : "") + ";";
  }

  static constexpr Duration kOutlivesAnySession = 8s;
  static constexpr Duration kLongestDelay = 5s;
  LockWorld lock_;
  std::string log_[2];
  std::string violation_;
};

/// Searches the choices depth first. Each path is run from the start.
class Explorer {
 public:
  /// `faults`: the largest number of faults on a path.
  explicit Explorer(int faults, Scenario scenario = {})
      : faults_(faults), scenario_(std::move(scenario)) {}

  void explore() { descend({}, faults_); }
  std::uint64_t runs() const { return runs_; }
  const std::string& failure() const { return failure_; }

 private:
  void descend(const std::vector<Choice>& path, int faults_left) {
    if (!failure_.empty()) return;
    Run run(scenario_);
    ++runs_;
    for (const Choice& choice : path) run.take(choice);
    if (report(run.violation(), path)) return;
    if (!seen_.insert(run.picture() + std::to_string(faults_left)).second) return;
    const auto choices = run.choices(faults_left > 0);
    if (choices.empty()) {
      report(run.finish(), path);
      return;
    }
    if (path.size() == kMostChoices) {
      report("I9: no end in sight", path);
      return;
    }
    for (const Choice& choice : choices) {
      auto longer = path;
      longer.push_back(choice);
      descend(longer, faults_left - (choice.kind == Choice::Kind::fault ? 1 : 0));
    }
  }

  bool report(const std::string& violation, const std::vector<Choice>& path) {
    if (violation.empty()) return false;
    failure_ = violation + " after:";
    for (const Choice& choice : path) failure_ += "\n  " + choice.text();
    return true;
  }

  static constexpr std::size_t kMostChoices = 60;  // a longer path does not end
  const int faults_;
  const Scenario scenario_;
  std::set<std::string> seen_;
  std::uint64_t runs_ = 0;
  std::string failure_;
};

/// The first contender writes and, nested, reads.
Scenario reads_on(LockWorld::Request other, std::chrono::milliseconds lock_delay = {}) {
  const Owner owner = Owner::unique();
  auto writer = LockWorld::to_write(owner);
  writer.lock_delay = lock_delay;
  return {{std::move(writer), std::move(other)}, LockWorld::to_read(owner)};
}

/// Two contenders of one client share a znode; the third is outside.
Scenario sharing(core::CohortPolicy terms, bool is_long_held = false) {
  const LockWorld::Request one{.local = terms};
  LockWorld::Request other = one;
  other.owner = Owner::unique();
  return {.of = {one, LockWorld::Request{}}, .beside = other, .is_long_held = is_long_held};
}

LockWorld::Request delayed(std::chrono::milliseconds lock_delay, LockWorld::Request request = {}) {
  request.lock_delay = lock_delay;
  return request;
}

/// A case: its name, how many faults happen on a path, and the scenario.
struct Case {
  const char* name;
  int faults;
  Scenario scenario;

  friend std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }
};

// With a delay or a downgrade, two faults take more than minutes.
const std::vector<Case>& cases() {
  using World = LockWorld;
  static const std::vector<Case> kCases = {
      {"TwoContenders_NoFault", 0, {}},
      {"TwoContenders_OneFault", 1, {}},
      {"TwoContenders_TwoFaults", 2, {}},
      {"WriterAndReader", 1, {{World::to_write(), World::to_read()}}},
      {"DowngradeBesideReader", 1, reads_on(World::to_read())},
      {"DowngradeBesideWriter_NoFault", 0, reads_on(World::to_write())},
      {"TwoReaders", 1, {{World::to_read(), World::to_read()}}},
      {"TwoOfThreePermits", 1, {{World::permits(2, 3), World::permits(2, 3)}}},
      // The first delay exceeds the rest of the run. The second delay is short.
      {"LockDelay", 1, {{delayed(4s), delayed(1s)}}},
      {"LockDelayOfWriterBesideReader", 1, {{delayed(2s, World::to_write()), World::to_read()}}},
      {"LockDelayOfDowngradeBesideReader", 1, reads_on(World::to_read(), 2s)},
      {"Cohort_NoFault", 0, sharing({.batch = 2})},
      {"Cohort_OneFault", 1, sharing({.batch = 2})},
      {"LockKeptIdle", 1, sharing({.keep_idle_for = 1s})},
      {"CohortKeptIdle", 1, sharing({.batch = 2, .keep_idle_for = 1s})},
      {"TwoAtGate", 1, {{World::at_gate(2), World::at_gate(9)}}},
      {"GateAndPlainContender", 1, {{World::at_gate(5), World::Request{}}}},
      {"CreatesOneByOne", 1, {.beside = World::Request{}, .creates_at_once = 1}},
      {"LongHold", 1, {.is_long_held = true}},
      {"LongHoldOfCohort", 1, sharing({.batch = 2}, true)}};
  return kCases;
}

class Interleavings : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(, Interleavings, ::testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

TEST_P(Interleavings, InvariantsHold) {
  const auto& [name, faults, scenario] = GetParam();
  constexpr std::array<std::uint64_t, 3> kLeastRuns{50, 1'000, 10'000};
  Explorer explorer(faults, scenario);
  explorer.explore();
  EXPECT_EQ(explorer.failure(), "");
  RecordProperty("runs", std::to_string(explorer.runs()));
  EXPECT_GT(explorer.runs(), kLeastRuns.at(static_cast<std::size_t>(faults)));
}

}  // namespace
}  // namespace zklock::model
