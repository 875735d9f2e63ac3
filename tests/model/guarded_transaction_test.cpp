// SPDX-License-Identifier: Apache-2.0
// Guarded transactions on the simulated ensemble, with faults at any moment. Nothing is written
// without the lock znode, and the caller gets the true outcome.
#include "zklock/guarded_transaction.h"

#include <exception>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/faults.h"
#include "tests/model/lock_world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using Kind = OperationKind;

constexpr const char* kDataPath = "/data";

/// Two clients: the first holds the lock and writes, and the second waits for the lock.
class GuardedModel : private SimEnsemble::Server {
 public:
  GuardedModel() {
    ensemble().attach(*this);
    ensemble().create(kDataPath, "0");
    lock.connect_all();
    first_ = lock.acquire(0);
    lock.world().run_all();
    lock.acquire(1);
    lock.world().run_all();
  }

  World& world() { return lock.world(); }
  SimEnsemble& ensemble() { return lock.world().ensemble(); }
  const Hold& hold() { return lock.call(first_).hold; }
  const std::string& data() { return ensemble().find(kDataPath)->data; }

  void commit(Deadline deadline = Deadline::never()) {
    GuardedTransaction tx(hold());
    tx.set(kDataPath, "1");
    commit(tx, deadline);
  }
  void commit(const GuardedTransaction& tx, Deadline deadline = Deadline::never()) {
    tx.async_commit(deadline, [this](const std::exception_ptr& error) {
      ++outcomes;
      code.reset();
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Error& e) {
        code = e.errc();
        text = e.what();
      }
    });
  }

  /// Returns what is wrong at the end, or an empty string.
  std::string violation() {
    if (outcomes != 1) return "reported " + std::to_string(outcomes) + " times";
    if (written_without_lock_) return "written although the lock znode did not exist";
    const bool written = data() == "1";
    if (!code) return written ? "" : "reported as written, but was not";
    if (code == Errc::outcome_unknown) return {};
    return written ? "reported as not written, but was" : "";
  }

  LockWorld lock{2};
  int outcomes = 0;
  std::optional<Errc> code;
  std::string text;

 private:
  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& /*acl*/) override {
    if (path == kDataPath && event == WatchEvent::changed &&
        ensemble().find(lock.call(first_).node) == nullptr) {
      written_without_lock_ = true;
    }
  }
  void on_session_gone(SessionId) override {}

  std::size_t first_ = 0;
  bool written_without_lock_ = false;
};

TEST(GuardedTransactionModel, ChangeOfOwnZnode_IsRefused) {
  GuardedModel model;
  model.world().client(0).reset_counts();
  GuardedTransaction tx(model.hold());
  tx.set(kDataPath, "1").set(model.hold().node(), "2");
  model.commit(tx);
  model.world().run_all();
  EXPECT_EQ(model.code, Errc::invalid_path);
  EXPECT_EQ(model.text, "set " + model.hold().node() +
                            ": the znode of the lock cannot be changed [invalid_path]");
  EXPECT_EQ(model.world().client(0).requests(Kind::transaction), 0U);
}

TEST(GuardedTransactionModel, CheckOfOwnZnode_IsPermitted) {
  GuardedModel model;
  GuardedTransaction tx(model.hold());
  tx.set(kDataPath, "1").check(model.hold().node(), 0);
  model.commit(tx);
  model.world().run_all();
  EXPECT_EQ(model.code, std::nullopt) << model.text;
  EXPECT_EQ(model.data(), "1");
}

TEST(GuardedTransactionModel, LargerThanRequest_IsRefused) {
  GuardedModel model;
  model.world().client(0).reset_counts();
  GuardedTransaction tx(model.hold());
  tx.set(kDataPath, std::string(500'000, 'a')).set(kDataPath, std::string(500'000, 'b'));
  model.commit(tx);
  model.world().run_all();
  EXPECT_EQ(model.code, Errc::too_large);
  EXPECT_EQ(model.world().client(0).requests(Kind::transaction), 0U);
}

TEST(GuardedTransactionModel, DeadlineBeforeSending_IsNeverSent) {
  GuardedModel model;
  model.world().disconnect(0);
  model.world().run_all();
  model.commit(Deadline::after(model.world().now(), 1s));
  model.world().run_for(900ms);
  EXPECT_EQ(model.outcomes, 0);
  model.world().run_for(100ms);
  EXPECT_EQ(model.code, Errc::not_connected);
  model.world().reconnect(0);
  model.world().run_all();
  EXPECT_EQ(model.hold().state(), HoldState::held);
  EXPECT_EQ(model.violation(), "");
}

TEST(GuardedTransactionModel, DeadlineAfterSending_OutcomeIsUnknown) {
  GuardedModel model;
  model.world().isolate(0);
  model.commit(Deadline::after(model.world().now(), 100ms));
  model.world().run_for(100ms);
  EXPECT_EQ(model.code, Errc::outcome_unknown);
  model.world().heal(0);
  model.world().run_all();
  EXPECT_EQ(model.data(), "1");
  EXPECT_EQ(model.outcomes, 1);
}

TEST(GuardedTransactionModel, CloseAfterWrite_OutcomeIsUnknown) {
  GuardedModel model;
  model.commit();
  model.world().run({Step::Kind::serve, 0});
  ASSERT_EQ(model.data(), "1");
  model.lock.core(0).close();
  model.world().run_all();
  EXPECT_EQ(model.code, Errc::outcome_unknown) << "not: closed";
  EXPECT_EQ(model.outcomes, 1);
}

// Each fault at each step of a commit.
TEST(GuardedTransactionModel, EveryFaultAtEveryStep_ReportsTrueOutcome) {
  const auto faults = faults_and({
      {"lost request", [](World& w) { w.lose_request(0, Kind::transaction); }},
      {"lost reply", [](World& w) { w.lose_reply(0, Kind::transaction); }},
      {"refusal", [](World& w) { w.fail_next(0, Kind::transaction, Status::throttled); }},
      {"deletion",
       [](World& w) { w.ensemble().remove(LockWorld::kPath + std::string("/lock-0000000000")); }},
  });
  std::size_t written = 0;
  std::size_t refused = 0;
  for (const auto& [name, fault] : faults) {
    for (const bool while_disconnected : {false, true}) {
      for (int step = 0; step < 4; ++step) {
        SCOPED_TRACE(std::string(name) + " after step " + std::to_string(step) +
                     (while_disconnected ? ", begun while disconnected" : ""));
        GuardedModel model;
        if (while_disconnected) model.world().disconnect(0);
        model.commit(Deadline::after(model.world().now(), 60s));
        if (while_disconnected) model.world().reconnect(0);
        for (int i = 0; i < step; ++i) {
          const auto steps = model.world().steps();
          if (!steps.empty()) model.world().run(steps.front());
        }
        fault(model.world());
        model.lock.connect_all();
        model.world().run_for(120s);
        EXPECT_EQ(model.violation(), "");
        // After an expiry by hand, a hold is valid until its client knows.
        if (name != std::string("expiry")) EXPECT_EQ(model.lock.violation(), "");
        (model.data() == "1" ? written : refused) += 1;
      }
    }
  }
  EXPECT_GT(written, 10U);
  EXPECT_GT(refused, 10U);
}

}  // namespace
}  // namespace zklock::model
