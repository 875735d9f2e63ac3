// SPDX-License-Identifier: Apache-2.0
// The unchanged lock path lock with servers that answer arbitrarily: see LyingServers. Promises:
//
// | promise                                                                                 |
// |-----------------------------------------------------------------------------------------|
// | every call ends once, with a hold, an error, or neither                                  |
// | a hold has a token that the servers have sent, a znode and an owner                      |
// | no hold is held after its session has ended, or longer than a timeout after the last     |
// |   answer of the quorum; a lost hold stays lost, and its stop token fires once            |
// | its owner's counts are above 0 exactly while it is held                                  |
// | after the client was closed, all calls have ended, all holds are lost, and no reference  |
// |   to the path lock is left                                                                  |
//
// Exclusion of two clients is not checked here, because no library can ensure it with servers that
// lie. The tests in tests/model check it, with servers that fail but do not lie.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/fuzz/lying_servers.h"
#include "tests/fuzz/target.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/hold.h"
#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_dispatcher.h"

namespace zklock::fuzz {
namespace {

using namespace detail;

constexpr std::size_t kMostCalls = 12;
constexpr int kMostSteps = 400;

template <class T>
std::shared_ptr<T> borrowed(T& object) {
  return {std::shared_ptr<void>(), &object};
}

struct CountLoss {
  int* times;
  void operator()() const noexcept { ++*times; }
};

struct Call {
  explicit Call(Owner of) : owner(of) {}

  const Owner owner;
  std::weak_ptr<PendingAcquire> waiting;
  int outcomes = 0;
  Hold hold = {};
  client::SessionId session = {};
  int losses = 0;
  bool was_lost = false;
  std::optional<std::stop_callback<CountLoss>> on_loss = {};
};

class Client {
 public:
  explicit Client(Choices& choices)
      : choices_(choices),
        servers_(choices, clock_),
        core_(ClientCore::make({.coordinator = borrowed<client::Coordinator>(servers_),
                                .scheduler = borrowed<client::Scheduler>(clock_),
                                .dispatcher = borrowed<client::Dispatcher>(dispatcher_),
                                .loss_dispatcher = borrowed<client::Dispatcher>(dispatcher_)},
                               {.hosts = "fuzz",
                                .application = "test",
                                .host = "host",
                                .announces = choices.one_in(2)})),
        engine_(core_->path_lock(core::LockPath("/locks/a"))) {
    engine_->attach();
  }

  void run() {
    servers_.connect();
    for (int i = 0; i < kMostSteps && choices_.any_left(); ++i) {
      step();
      check();
    }
    close();
  }

 private:
  void step() {
    switch (choices_.below(16)) {
      case 0: return acquire();
      case 1: return acquire();
      case 2: return cancel();
      case 3: return release();
      case 4:
        if (choices_.one_in(4)) servers_.disconnect();
        return;
      case 5:
        if (choices_.one_in(8)) servers_.end_session();
        return;
      case 6: return servers_.connect();
      case 7: return servers_.fire();
      case 8: return engine_->check_clocks();
      case 9: static_cast<void>(dispatcher_.run_next()); return;
      case 10: pass_time(); return;
      case 11: static_cast<void>(clock_.run_next()); return;
      default: return servers_.answer();
    }
  }

  void pass_time() {
    clock_.advance_to(clock_.now() + std::chrono::milliseconds(1 << choices_.below(14)));
  }

  core::QueueRule choose_rule(core::CountKind& kind) {
    switch (choices_.below(6)) {
      case 0: return core::QueueRule::writer();
      case 1: kind = core::CountKind::shared_hold; return core::QueueRule::reader();
      case 2: return core::QueueRule::permits(1, 2, false);
      case 3: return core::QueueRule::permits(1, 2, true);
      default: return core::QueueRule::mutex();
    }
  }

  void acquire() {
    if (calls_.size() == kMostCalls) return;
    const Owner owner = owners_[choices_.below(std::size(owners_))];
    calls_.push_back(std::make_unique<Call>(owner));
    Call& call = *calls_.back();
    core::CountKind kind = core::CountKind::hold;
    AcquireRequest wanted{
        .owner = owner, .rule = choose_rule(kind), .time_limit = choose_time_limit()};
    const unsigned flags = choices_.byte();
    const bool mutex = wanted.rule.is_mutex();
    if (mutex && (flags & 1U) != 0) wanted.gate = core::QueueRule::weighted(5, 2);
    if (mutex && (flags & 3U) == 2U)
      wanted.cohort_policy = {.batch = 4, .keep_idle_for = std::chrono::seconds(2)};
    if ((flags & 4U) != 0) wanted.lock_delay = std::chrono::seconds(1);
    wanted.queue_again = (flags & 8U) == 0;
    wanted.kind = kind;
    wanted.done = [this, &call, kind](AcquireOutcome outcome) {
      ended(call, std::move(outcome), kind);
    };
    call.waiting = PendingAcquire::start(engine_, std::move(wanted), {});
  }

  TimeLimit choose_time_limit() {
    const core::Instant now = clock_.now();
    switch (choices_.below(3)) {
      case 0: return TimeLimit::single_attempt();
      case 1: return {Deadline::after(now, std::chrono::seconds(3)), now};
      default: return TimeLimit::endless();
    }
  }

  void ended(Call& call, AcquireOutcome outcome, core::CountKind kind) {
    require(++call.outcomes == 1, "a call ends once");
    require(!outcome.contender || !outcome.error, "with one of them");
    if (!outcome.contender) return;
    call.hold = outcome.contender->make_hold(kind);
    {
      const EngineLock lock(engine_->entry());
      call.session = outcome.contender->lock_node().machine().node().session();
    }
    call.on_loss.emplace(call.hold.loss_token(), CountLoss{&call.losses});
    require(servers_.have_named({call.hold.token().zxid}), "a reply has named the znode");
    require(call.hold.owner() == call.owner, "its owner");
    // An exposed znode prevents the next local grant until it is deleted.
    const bool exposes = choices_.below(4) == 0;
    const std::string node = exposes ? call.hold.expose_node() : call.hold.node();
    require(node.starts_with("/locks/a/"), "its node");
  }

  void cancel() {
    if (calls_.empty()) return;
    if (const auto waits = calls_[choices_.below(calls_.size())]->waiting.lock()) waits->cancel();
  }

  void release() {
    if (calls_.empty()) return;
    Call& call = *calls_[choices_.below(calls_.size())];
    call.on_loss.reset();
    call.hold.release();
    engine_->check_clocks();
  }

  bool has_valid_lease(const Call& call) const {
    const auto contact = servers_.last_contact_of_quorum(call.session);
    return call.session == servers_.session() && contact &&
           clock_.now() < *contact + LyingServers::kTimeout;
  }

  void check() {
    for (const auto& each : calls_) {
      Call& call = *each;
      require(call.losses <= 1, "a loss is reported once");
      if (!call.hold) continue;
      const bool lost = call.hold.state() == HoldState::lost;
      require(!call.was_lost || lost, "lost for ever");
      call.was_lost = lost;
      if (lost) {
        require(call.hold.loss_token().stop_requested(), "a lost hold requests stop");
        continue;
      }
      require(call.losses == 0, "a valid hold has reported no loss");
      require(has_valid_lease(call), "a valid hold has a valid lease");
      require(engine_->ownership(call.owner, Access::permits).count() > 0, "it has a count");
    }
  }

  void close() {
    engine_->detach();
    core_->close();
    while (!dispatcher_.empty()) static_cast<void>(dispatcher_.run_next());
    for (const auto& call : calls_) {
      require(call->outcomes == 1, "every call ends");
      require(!call->hold || call->hold.state() == HoldState::lost, "closed, nothing is held");
      require(!call->hold || call->losses == 1, "all losses are reported");
    }
    require(servers_.unanswered() == 0, "no request without a reply");
    engine_.reset();
    for (const auto& call : calls_) call->on_loss.reset();
    calls_.clear();
    clock_.clear();
    const std::weak_ptr<ClientCore> left = core_;
    core_.reset();
    require(left.expired(), "no reference to the client remains");
  }

  Choices& choices_;
  model::SimClock clock_;
  model::SimDispatcher dispatcher_;
  LyingServers servers_;
  const Owner owners_[3] = {Owner::unique(), Owner::unique(), Owner::unique()};
  std::vector<std::unique_ptr<Call>> calls_;
  std::shared_ptr<ClientCore> core_;
  std::shared_ptr<PathLock> engine_;
};

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zklock::fuzz::Choices choices(data, size);
  zklock::fuzz::Client(choices).run();
  return 0;
}
