// SPDX-License-Identifier: Apache-2.0
// Unit tests of the service, without servers and without pauses: see FakeEnsemble.
#include "service.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>
#include <zklock/testing/fake_ensemble.h>
#include <zklock/zklock.h>

#include "ledger.h"

namespace billing {
namespace {

using namespace std::chrono_literals;
using zklock::testing::FakeEnsemble;

// A ledger whose writes can hang.
class HangingLedger : public Ledger {
 public:
  explicit HangingLedger(Ledger& ledger) : ledger_(ledger) {}

  bool begin(zklock::FencingToken token) override { return ledger_.begin(token); }
  bool post(zklock::FencingToken token, const Posting& posting) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hangs_; });
    return ledger_.post(token, posting);
  }
  void hang(bool hangs) {
    const std::lock_guard guard(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }

 private:
  Ledger& ledger_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

struct Instance {
  Instance(FakeEnsemble& ensemble, Ledger& ledger)
      : hanging_ledger(ledger), client(ensemble.client()) {
    service.start();
    ensemble.settle();
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  HangingLedger hanging_ledger;
  const std::unique_ptr<zklock::Client> client;
  Service service{*client, hanging_ledger};
};

class ServiceTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (Instance* instance : {&a_, &b_}) {
      instance->hanging_ledger.hang(false);
      ensemble_.link(*instance->client).mend();
    }
    ensemble_.during([this] {
      a_.service.stop();
      b_.service.stop();
    });
    EXPECT_EQ(ensemble_.leftovers(), "");
  }
  bool posts(Instance& instance, std::int64_t amount, const std::string& account = "alice") {
    auto written = instance.service.post({account, amount});
    ensemble_.settle();
    return written.get();
  }

  const std::string kAccount = "alice";
  FakeEnsemble ensemble_;
  MemoryLedger ledger_;
  Instance a_{ensemble_, ledger_};
  Instance b_{ensemble_, ledger_};
};

TEST_F(ServiceTest, Leader_WritesToTheLedger) {
  EXPECT_TRUE(a_.service.is_ready());
  EXPECT_TRUE(posts(a_, 100));
  EXPECT_EQ(ledger_.balance(kAccount), 100);
}

TEST_F(ServiceTest, Standby_IsLiveNotReady) {
  EXPECT_TRUE(b_.service.is_live());
  EXPECT_FALSE(b_.service.is_ready());
  EXPECT_FALSE(posts(b_, 100));
  EXPECT_EQ(b_.service.reply_to("/livez").status, 200);
  EXPECT_EQ(b_.service.reply_to("/readyz").status, 503);
  EXPECT_EQ(b_.service.reply_to("/other").status, 404);
}

TEST_F(ServiceTest, Stopped_NextLeadsAtOnce) {
  auto accepted = a_.service.post({kAccount, 100});
  const auto before = ensemble_.now();
  EXPECT_TRUE(ensemble_.during([this] { return a_.service.stop(); }));
  EXPECT_TRUE(accepted.get());
  EXPECT_FALSE(a_.service.is_ready());
  ensemble_.settle();
  EXPECT_TRUE(b_.service.is_ready());
  EXPECT_EQ(ensemble_.now(), before) << "no time has passed";
}

TEST_F(ServiceTest, ConnectionCut_StopsBeforeTheNextLeads) {
  ensemble_.link(*a_.client).cut();
  EXPECT_TRUE(ensemble_.advance_until([this] { return !a_.service.is_ready(); }, 10s));
  EXPECT_FALSE(b_.service.is_ready());
  EXPECT_FALSE(posts(a_, 100));
  EXPECT_TRUE(ensemble_.advance_until([this] { return b_.service.is_ready(); }, 20s));
  EXPECT_TRUE(posts(b_, 1));
  EXPECT_EQ(ledger_.balance(kAccount), 1);
}

TEST_F(ServiceTest, ProcessPausedInWrite_LateWriteIsRefused) {
  a_.hanging_ledger.hang(true);
  auto late = a_.service.post({kAccount, 100});
  ensemble_.settle();
  ensemble_.link(*a_.client).pause_process();
  EXPECT_TRUE(ensemble_.advance_until([this] { return b_.service.is_ready(); }, 20s));
  EXPECT_TRUE(posts(b_, 1, "bob"));
  a_.hanging_ledger.hang(false);
  EXPECT_FALSE(late.get()) << "also to an account that the next leader has not written";
  EXPECT_EQ(ledger_.balance(kAccount), 0);
  ensemble_.link(*a_.client).resume_process();
  ensemble_.settle();
  EXPECT_FALSE(a_.service.is_ready());
}

TEST_F(ServiceTest, NoServers_StaysLive) {
  ensemble_.stop_servers();
  ensemble_.advance(1min);
  EXPECT_FALSE(a_.service.is_ready());
  EXPECT_TRUE(a_.service.is_live());
  EXPECT_TRUE(b_.service.is_live());
  ensemble_.start_servers();
  EXPECT_TRUE(ensemble_.advance_until(
      [this] { return a_.service.is_ready() || b_.service.is_ready(); }, 1min));
}

TEST_F(ServiceTest, WriteHangsAfterLoss_IsNotLive) {
  a_.hanging_ledger.hang(true);
  auto late = a_.service.post({kAccount, 100});
  ensemble_.settle();
  ensemble_.link(*a_.client).expire_session();
  ensemble_.advance(1s);
  EXPECT_TRUE(a_.service.is_live());
  auto refused = a_.service.post({kAccount, 1});
  EXPECT_EQ(refused.wait_for(0s), std::future_status::ready) << "it does not wait for the write";
  ensemble_.advance(40s);
  EXPECT_FALSE(a_.service.is_live());
  EXPECT_EQ(a_.service.reply_to("/livez").status, 503);
}

TEST_F(ServiceTest, NoPermission_IsNotLive) {
  const auto client = ensemble_.client();
  Service service(*client, ledger_);
  ensemble_.link(*client).fail_next(zklock::testing::RequestKind::create, zklock::Errc::no_auth);
  EXPECT_TRUE(service.is_live());
  service.start();
  ensemble_.settle();
  EXPECT_FALSE(service.is_live());
  const Reply reply = service.reply_to("/livez");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("/services/billing/leader"), std::string::npos) << reply.body;
  ensemble_.during([&service] { return service.stop(); });
  EXPECT_TRUE(service.is_live()) << "it ends in good order";
}

TEST_F(ServiceTest, Metrics_ShowLeaderAndLoss) {
  const auto shows = [this](const std::string& line) {
    return a_.service.reply_to("/metrics").body.find(line + '\n') != std::string::npos;
  };
  EXPECT_TRUE(shows(R"(zklock_leader{lock="billing"} 1)"));
  EXPECT_TRUE(shows(R"(zklock_losses_total{lock="billing",reason="lease_expired"} 0)"));
  ensemble_.link(*a_.client).cut();
  ensemble_.advance(10s);
  EXPECT_TRUE(shows(R"(zklock_leader{lock="billing"} 0)"));
  EXPECT_TRUE(shows(R"(zklock_losses_total{lock="billing",reason="lease_expired"} 1)"));
}

}  // namespace
}  // namespace billing
