// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake_ensemble.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPath = "/locks/job";

/// Records events with their virtual times, in milliseconds since the construction.
///
/// Thread-safety: all members, from any thread.
class History {
 public:
  void add(const std::string& event) {
    const auto time =
        std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - began_);
    const std::lock_guard guard(mutex_);
    text_ += std::to_string(time.count()) + " " + event + "\n";
  }
  std::string text() const {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  const LeaseClock::time_point began_ = LeaseClock::now();
  mutable std::mutex mutex_;
  std::string text_;
};

Error error_of_hosts(const std::string& hosts) {
  try {
    const Client client(hosts);
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no error");
}

/// Acquires the lock, and works until it is lost.
void work(const std::string& hosts, History& history) {
  Client client(hosts);
  Mutex mutex(client, kPath);
  const Hold hold = mutex.acquire();
  history.add("granted");
  std::binary_semaphore lost{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] { lost.release(); });
  lost.acquire();
  history.add("lost: " + std::string(to_string(hold.loss_reason().value())));
}

std::string lose_while_working() {
  FakeEnsemble ensemble;
  History history;
  const std::jthread worker([&] { work(ensemble.hosts(), history); });
  ensemble.settle();
  ensemble.link(0).cut();
  ensemble.advance(10s);
  return history.text();
}

TEST(FakeEnsemble, LostWhileWorking_IsTheSameEachTime) {
  for (int run = 0; run < 20; ++run) {
    ASSERT_EQ(lose_while_working(), "0 granted\n6666 lost: lease_expired\n") << run;
  }
}

/// Returns the virtual time that a call takes.
template <class Call>
LeaseClock::duration time_of(FakeEnsemble& ensemble, Call call) {
  const auto began = ensemble.now();
  ensemble.during([&] {
    call();
    return true;
  });
  return ensemble.now() - began;
}

TEST(FakeEnsemble, BlockedAcquire_EndsAtItsDeadline) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  const auto others = ensemble.client();
  Mutex other(*others, kPath);
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(other.acquire(5s)); }), 5s);
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(other.try_lock_for(1234567ns)); }), 1234567ns);
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(other.try_lock()); }), 0s);
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(other.async_acquire({.deadline = 7s}).get()); }),
            7s);
}

TEST(FakeEnsemble, BlockedQueries_EndAtTheirDeadlines) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, kPath);
  LeaderLatch latch(*client, "/locks/leader");
  ensemble.link(*client).cut();
  EXPECT_EQ(
      time_of(ensemble, [&] { EXPECT_THROW(static_cast<void>(mutex.participants(2s)), Error); }),
      2s);
  latch.start();
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(latch.wait_until_leader(3s)); }), 3s);
  latch.close();
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(client->flush(1500ms)); }), 1500ms);
  ensemble.link(*client).refuse();
  EXPECT_EQ(time_of(ensemble, [&] { EXPECT_FALSE(client->wait_until_connected(4s)); }), 4s);
}

TEST(FakeEnsemble, SemaphoreWithEmptyList_RequestsOnePermit) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Semaphore semaphore(*client, kPath, SharedCount{.initial = 2});
  EXPECT_EQ(semaphore.acquire({}).permits(), 1);
  EXPECT_EQ(semaphore.async_acquire({}).get().permits(), 1);
}

TEST(FakeEnsemble, LoopOfAttempts_TriesAtExactTimes) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  const auto others = ensemble.client();
  Mutex other(*others, kPath);
  std::atomic<int> attempts{0};
  std::atomic<bool> stop{false};
  std::jthread loop([&] {
    while (!stop && !other.try_lock_for(5s)) ++attempts;
  });
  ensemble.advance(30s);
  EXPECT_EQ(attempts, 6);
  stop = true;
  ensemble.advance(5s);
}

std::string fail_over() {
  FakeEnsemble ensemble;
  History history;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<LeaderElection>> elections;
  for (const char* name : {"a", "b", "c"}) {
    clients.push_back(ensemble.client());
    elections.push_back(std::make_unique<LeaderElection>(
        *clients.back(), "/locks/leader", [&history, name](Leadership& leadership) {
          history.add(std::string(name) + " leads");
          std::binary_semaphore ended{0};
          const std::stop_callback on_end(leadership.end_token(), [&] { ended.release(); });
          ended.acquire();
          history.add(std::string(name) + " ends");
        }));
    elections.back()->start();
    ensemble.settle();
  }
  ensemble.link(0).cut();
  ensemble.advance(30s);
  ensemble.link(0).mend();
  ensemble.link(1).expire_session();
  ensemble.advance(30s);
  ensemble.link(2).lose_reply(RequestKind::multi);
  ensemble.advance(30s);
  elections.clear();
  return history.text();
}

TEST(FakeEnsemble, Failover_HasTheSameHistoryEachTime) {
  const std::string first = fail_over();
  EXPECT_NE(first.find("b leads"), std::string::npos) << first;
  for (int run = 0; run < 10; ++run) ASSERT_EQ(fail_over(), first) << run;
}

TEST(FakeEnsemble, CallbackDestroysClient_Ends) {
  FakeEnsemble ensemble;
  auto client = ensemble.client();
  auto mutex = std::make_unique<Mutex>(*client, kPath);
  std::atomic<bool> has_ended{false};
  mutex->async_acquire([&](const Hold&, const std::exception_ptr&) {
    mutex.reset();
    client.reset();
    has_ended = true;
  });
  ensemble.settle();
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(ensemble.leftovers(), "");
}

TEST(FakeEnsemble, CallbackLetsTimePass_TimePasses) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, kPath);
  const auto before = ensemble.now();
  mutex.async_acquire([&](const Hold&, const std::exception_ptr&) { ensemble.advance(3s); });
  ensemble.settle();
  EXPECT_TRUE(ensemble.advance_until([&] { return ensemble.now() >= before + 3s; }));
}

TEST(FakeEnsemble, ThreadSpins_SettleThrowsItsName) {
  FakeEnsemble ensemble({.rest_limit = 50ms});
  std::atomic<bool> stop{false};
  const std::jthread spins([&] {
    while (!stop) {
    }
  });
  EXPECT_THROW(ensemble.settle(), std::runtime_error);
  stop = true;
}

TEST(FakeEnsemble, ThreadSpins_RequestsAreStillExecuted) {
  FakeEnsemble ensemble({.rest_limit = 0ms});
  std::atomic<bool> stop{false};
  const std::jthread spins([&] {
    while (!stop) {
    }
  });
  const auto client = ensemble.client();
  EXPECT_TRUE(client->wait_until_connected());
  Mutex mutex(*client, kPath);
  EXPECT_TRUE(mutex.acquire());
  stop = true;
}

TEST(FakeEnsemble, ClientOfRealServers_IsRefused) {
  const FakeEnsemble ensemble;
  EXPECT_EQ(error_of_hosts("127.0.0.1:1").errc(), Errc::unsupported);
}

TEST(FakeEnsemble, HostsOfNoEnsemble_AreRefused) {
  std::string old;
  { old = FakeEnsemble().hosts(); }
  const FakeEnsemble ensemble;
  EXPECT_EQ(error_of_hosts(old).errc(), Errc::invalid_hosts);
  EXPECT_EQ(error_of_hosts(ensemble.hosts() + "/root").errc(), Errc::invalid_hosts);
}

TEST(FakeEnsemble, LastOneEnds_ClockIsReal) {
  {
    FakeEnsemble ensemble;
    const auto now = LeaseClock::now();
    std::this_thread::sleep_for(2ms);
    EXPECT_EQ(LeaseClock::now(), now);
    ensemble.advance(1h);
    EXPECT_EQ(LeaseClock::now(), now + 1h);
  }
  const auto now = LeaseClock::now();
  std::this_thread::sleep_for(2ms);
  EXPECT_GT(LeaseClock::now(), now);
}

TEST(FakeEnsemble, EndsBeforeItsClient_ClientEnds) {
  auto ensemble = std::make_unique<FakeEnsemble>();
  auto client = ensemble->client();
  Mutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  Mutex other(*client, kPath);
  auto waiting = other.async_acquire({.owner = Owner::unique("other")});
  ensemble->settle();
  ensemble.reset();
  client.reset();
  EXPECT_THROW(static_cast<void>(waiting.get()), Error);
  EXPECT_FALSE(hold.is_valid());
}

TEST(FakeEnsemble, SeveralEnsembles_HaveOneClock) {
  FakeEnsemble ensembles[3];
  std::vector<std::unique_ptr<Client>> clients;
  for (FakeEnsemble& each : ensembles) clients.push_back(each.client());
  QuorumMutex mutex({*clients[0], *clients[1], *clients[2]}, kPath);
  const CompositeHold hold = mutex.acquire();
  ASSERT_TRUE(hold);
  ensembles[0].link(0).cut();
  ensembles[1].advance(1min);
  EXPECT_EQ(ensembles[2].now(), LeaseClock::now());
  EXPECT_TRUE(hold.is_valid());
  ensembles[1].link(0).cut();
  ensembles[2].advance(1min);
  EXPECT_FALSE(hold.is_valid());
}

TEST(FakeEnsemble, CallBlocksForEver_DuringThrows) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  auto other = std::make_shared<Mutex>(*client, kPath);
  Hold hold = other->acquire();
  EXPECT_THROW(ensemble.during(
                   [other] {
                     other->lock();
                     other->unlock();
                   },
                   1min),
               std::runtime_error);
  hold = {};
  ensemble.settle();
}

}  // namespace
}  // namespace zklock::testing
