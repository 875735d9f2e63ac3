// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake/fake_world.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/start_thread.h"
#include "zklock/client_options.h"
#include "zklock/error.h"
#include "zklock/testing/fake/threads_at_rest.h"

namespace zklock::testing::detail {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::string_view kDomain = ".fake-ensemble.invalid:2181";
/// A settle() that takes longer than the rest_limit must end after so many steps.
constexpr std::size_t kMostSteps = 10'000;
/// How long the thread of FakeWorld waits for threads that run, before it executes their requests.
constexpr milliseconds kLongestWait{100};
constexpr microseconds kShortestPause{20};
constexpr microseconds kLongestPause{1'000};

using RealTime = std::chrono::steady_clock::time_point;

/// Blocks until all other threads sleep. Returns false if they do not until that time. Checks them
/// at least once.
bool wait_for_rest(ThreadsAtRest& threads, RealTime until) {
  for (microseconds pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
    if (threads.check()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(pause);
  }
}

[[noreturn]] void refuse(Errc code, const ClientOptions& options, const std::string& cause) {
  throw Error(code, "connect", options.hosts, cause);
}

}  // namespace

// ---- clients ------------------------------------------------------------------------------------

void FakeClient::update() {
  const char* now = "";
  if (servers->stopped) {
    now = "the servers of the FakeEnsemble are stopped";
  } else if (refused) {
    now = "the FakeEnsemble refuses connections";
  } else if (cut) {
    now = "the connection is cut";
  }
  problem = now;
  if (servers->stopped || refused) {
    coordinator.disconnect();
  } else if (!cut && started && !closed && !coordinator.is_paused()) {
    coordinator.reconnect();  // if there is no connection
  }
}

bool Universe::run_step() {
  for (;;) {
    const auto kind = simulated.run_one();
    if (kind == model::Step::Kind::receive || kind == model::Step::Kind::timer) return true;
    if (!kind && !reconnect_one()) return false;
  }
}

bool Universe::reconnect_one() {
  for (FakeClient& client : clients) {
    if (!client.coordinator.is_down()) continue;
    client.update();
    if (!client.coordinator.is_down()) return true;
  }
  return false;
}

// ---- the simulation lock and commands -----------------------------------------------------------

// The analysis does not know that the lock is recursive.
FakeWorld::SimulationLock::SimulationLock(FakeWorld& world) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS
    : world_(world),
      is_outermost_(!world.is_inside()) {
  if (!is_outermost_) return;
  world_.simulation_mutex_.lock();
  world_.inside_ = std::this_thread::get_id();
}

FakeWorld::SimulationLock::~SimulationLock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (!is_outermost_) return;
  world_.inside_ = std::thread::id();
  world_.simulation_mutex_.unlock();
}

void FakeWorld::touch(const std::shared_ptr<Universe>& universe) {
  if (!universe || std::ranges::find(touched_, universe) != touched_.end()) return;
  touched_.push_back(universe);
  is_busy_ = true;
}

/// Executes the queued commands, and touches their universes. REQUIRES: the thread has the
/// SimulationLock.
void FakeWorld::take_inbox() {
  for (;;) {
    Item item;
    {
      const client::MutexLock guard(inbox_mutex_);
      if (inbox_.empty()) return;
      item = std::move(inbox_.front());
      inbox_.pop_front();
    }
    item.command();
    touch(item.universe);
  }
}

/// Executes the queued commands, and runs the simulation up to a step that can wake a thread.
/// Returns false if there was none.
bool FakeWorld::work() {
  std::vector<std::shared_ptr<Universe>> idle;  // destroyed without the SimulationLock
  const SimulationLock lock(*this);
  simulation_mutex_.assert_held();
  take_inbox();
  while (!touched_.empty()) {
    const std::shared_ptr<Universe> universe = touched_.front();
    if (universe->run_step()) return true;
    touched_.erase(touched_.begin());
    idle.push_back(universe);
  }
  is_busy_ = false;
  return false;
}

void FakeWorld::wake() {
  const client::MutexLock guard(inbox_mutex_);
  posted_.notify_one();
}

// ---- the seam -----------------------------------------------------------------------------------

FakeWorld& FakeWorld::instance() {
  static auto* const kInstance = new FakeWorld();  // threads may use it until the process ends
  return *kInstance;
}

FakeWorld::FakeWorld() {
  client::start_thread("zklock-fake", [this] { run_thread(); }).detach();
}

std::shared_ptr<FakeServers> FakeWorld::begin(milliseconds rest_limit) {
  const SimulationLock lock(*this);
  simulation_mutex_.assert_held();
  const bool is_first = universe_ == nullptr;
  if (is_first) {
    universe_ = std::make_shared<Universe>();
    set_now(std::max(now(), client::boot_time()));
    universe_->simulated.clock().stand_at(now());
    last_seed_ = 0;
  }
  waits_for_threads_ = rest_limit > milliseconds(0);
  auto servers = std::make_shared<FakeServers>(
      *universe_, "e" + std::to_string(++ensembles_made_) + std::string(kDomain),
      universe_->simulated.add_ensemble(), rest_limit);
  servers->ensemble.jump(std::chrono::system_clock::now().time_since_epoch() -
                         now().time_since_epoch());
  universe_->servers.push_back(servers);
  if (is_first) set_seam(this, {});
  return servers;
}

void FakeWorld::end(const std::shared_ptr<FakeServers>& servers) {
  const std::shared_ptr<Universe> ended = universe();  // destroyed without the SimulationLock
  const SimulationLock lock(*this);
  simulation_mutex_.assert_held();
  take_inbox();
  servers->stopped = true;
  for (FakeClient& client : ended->clients) {
    if (client.servers == servers) client.update();
  }
  while (ended->run_step()) {
  }
  std::erase(ended->servers, servers);
  if (!ended->servers.empty()) return;
  set_seam(nullptr, {});
  universe_ = nullptr;
  const client::MutexLock guard(sleepers_mutex_);
  for (const Sleeper* sleeper : sleepers_) sleeper->wake(sleeper->condition);
}

std::shared_ptr<Universe> FakeWorld::universe() {
  const SimulationLock lock(*this);
  simulation_mutex_.assert_held();
  return universe_;
}

client::TestSeam::Connection FakeWorld::connect(const ClientOptions& options) {
  const SimulationLock lock(*this);
  simulation_mutex_.assert_held();
  for (const auto& servers : universe_ ? universe_->servers : decltype(Universe::servers)()) {
    if (options.hosts.starts_with(servers->hosts + "/")) {
      refuse(Errc::invalid_hosts, options, "a FakeEnsemble has no chroot");
    }
    if (options.hosts != servers->hosts) continue;
    model::World& simulated = universe_->simulated;
    const std::size_t c = simulated.add_client({.session_timeout = options.session_timeout,
                                                .connection_timeout = options.connection_timeout},
                                               servers->ensemble);
    return make_ports(universe_, universe_->clients.emplace_back(servers, simulated.client(c),
                                                                 simulated.scheduler(c),
                                                                 options.session_timeout));
  }
  if (options.hosts.ends_with(kDomain)) {
    refuse(Errc::invalid_hosts, options, "the FakeEnsemble with these hosts does not exist");
  }
  refuse(Errc::unsupported, options,
         "a FakeEnsemble exists in this process, and the deadlines of calls are virtual; a client "
         "of real servers would be wrong");
}

core::Instant FakeWorld::now() const noexcept {
  return core::Instant(core::Duration(now_.load()));
}

void FakeWorld::add(const Sleeper& sleeper) {
  const client::MutexLock guard(sleepers_mutex_);
  sleepers_.push_back(&sleeper);
}

void FakeWorld::remove(const Sleeper& sleeper) noexcept {
  const client::MutexLock guard(sleepers_mutex_);
  std::erase(sleepers_, &sleeper);
}

/// Notifies the threads whose time has come. Returns whether there is one. It may miss the
/// notification, so this is repeated until its remove().
bool FakeWorld::wake_sleepers() {
  bool any = false;
  const client::MutexLock guard(sleepers_mutex_);
  for (const Sleeper* sleeper : sleepers_) {
    if (sleeper->until > now()) continue;
    any = true;
    sleeper->wake(sleeper->condition);
  }
  return any;
}

std::optional<core::Instant> FakeWorld::next_sleeper() {
  std::optional<core::Instant> next;
  const client::MutexLock guard(sleepers_mutex_);
  for (const Sleeper* sleeper : sleepers_) {
    if (sleeper->until > now() && (!next || sleeper->until < *next)) next = sleeper->until;
  }
  return next;
}

// ---- time ---------------------------------------------------------------------------------------

/// The right to let time pass. The thread of FakeWorld does not count as a driver.
class FakeWorld::Driving {
 public:
  Driving(FakeWorld& world, milliseconds limit) : world_(world) {
    if (world_.is_inside()) {
      throw std::logic_error("a LogSink or a logger must not call a FakeEnsemble");
    }
    ++world_.drivers_;
    if (world_.driver_queue_.enter(limit)) return;
    --world_.drivers_;
    throw std::runtime_error("settle: another thread that settles makes no progress for " +
                             std::to_string(limit.count()) + " ms");
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  ~Driving() {
    world_.driver_queue_.leave();
    --world_.drivers_;
  }

 private:
  FakeWorld& world_;
};

/// Settles. At an equal time, requests come before the timeouts of threads. Each step has the whole
/// limit. A thread that sends one request after the other would make this endless, so the number of
/// steps is limited too.
void FakeWorld::come_to_rest(milliseconds limit) {
  using RealClock = std::chrono::steady_clock;
  const bool waits = limit > milliseconds(0);
  const RealTime first_limit = RealClock::now() + limit;
  ThreadsAtRest threads;
  for (std::size_t steps = 0;; ++steps) {
    if (waits && !wait_for_rest(threads, RealClock::now() + limit)) {
      throw std::runtime_error(
          "settle: " + threads.awake() + " does not rest within " + std::to_string(limit.count()) +
          " ms. Virtual time needs threads that sleep; see FakeEnsembleOptions::rest_limit");
    }
    driver_queue_.add_progress();
    if (waits && steps > kMostSteps && RealClock::now() >= first_limit) {
      throw std::runtime_error("settle: a thread makes calls without end, and no time passes");
    }
    if (work()) continue;
    if (!wake_sleepers() || !waits) return;
  }
}

core::Instant FakeWorld::settle(milliseconds limit) {
  const Driving driving(*this, limit);
  come_to_rest(limit);
  return now();
}

void FakeWorld::settle_if_free(milliseconds limit) {
  if (drivers_ > 0) return wake();
  settle(limit);
}

void FakeWorld::advance(core::Duration duration, milliseconds limit) {
  const Driving driving(*this, limit);
  const core::Instant end = now() + std::max(duration, core::Duration(0));
  come_to_rest(limit);
  while (run_next_event(end)) come_to_rest(limit);
  stand_at(end);
}

bool FakeWorld::step(core::Instant& seen, core::Instant end, milliseconds limit) {
  const Driving driving(*this, limit);
  come_to_rest(limit);
  const bool is_later = std::exchange(seen, now()) != now();
  if (is_later && now() < end) return true;
  const bool is_event = run_next_event(end);
  if (!is_event) stand_at(end);
  come_to_rest(limit);
  seen = now();
  return is_event;
}

/// Lets time pass until the next event. Returns false, without effect, if there is none until
/// `end`.
bool FakeWorld::run_next_event(core::Instant end) {
  const std::shared_ptr<Universe> present = universe();
  const SimulationLock lock(*this);
  if (!present) return false;
  model::SimClock& clock = present->simulated.clock();
  auto due = clock.next_due();
  if (const auto sleeper = next_sleeper()) due = due ? std::min(*due, *sleeper) : sleeper;
  if (!due || *due > end) return false;
  set_now(std::max(*due, now()));
  touch(present);  // runs the timers
  clock.stand_at(now());
  return true;
}

void FakeWorld::stand_at(core::Instant end) {
  const std::shared_ptr<Universe> present = universe();
  const SimulationLock lock(*this);
  if (!present) return;
  set_now(std::max(end, now()));  // another thread can have let more time pass
  present->simulated.clock().stand_at(now());
}

/// The thread of this object. It executes requests while no other thread settles.
void FakeWorld::run_thread() {
  for (;;) {
    {
      const client::MutexLock guard(inbox_mutex_);
      while (!has_work()) posted_.wait(inbox_mutex_);
    }
    driver_queue_.enter_last();
    try {
      ThreadsAtRest threads;
      const RealTime until = std::chrono::steady_clock::now() + kLongestWait;
      while (waits_for_threads_ && drivers_ == 0 && std::chrono::steady_clock::now() < until) {
        if (wait_for_rest(threads, std::chrono::steady_clock::now() + kLongestPause)) break;
      }
    } catch (const std::runtime_error&) {  // there is no /proc
    }
    if (drivers_ == 0) work();  // a driver works itself
    driver_queue_.leave();
  }
}

}  // namespace zklock::testing::detail
