// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <future>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/environment.h"
#include "conformance/suite/lock_adapter.h"
#include "conformance/suite/suite_lock.h"

namespace zklock::testing {

// The parameter of a test: one adapter on one environment.
struct Pairing {
  const LockAdapter* adapter;
  EnvironmentKind environment;
};
// Used in the messages of failed tests.
void PrintTo(const Pairing& pairing, std::ostream* out);

// Returns every class on each of the environments.
std::vector<Pairing> every_class_on(std::initializer_list<EnvironmentKind> environments);
// Returns the classes for which `has` is true.
std::vector<Pairing> classes_on(std::initializer_list<EnvironmentKind> environments,
                                bool LockAdapter::*has);

// Returns the last part of a test name, such as "ReaderOnServers".
std::string pairing_name(const ::testing::TestParamInfo<Pairing>& info);

// Counts how often the loss callback runs.
class LossCounter {
 public:
  explicit LossCounter(const Grant& hold)
      : lost_(std::make_shared<std::atomic<int>>(0)), on_loss_(hold.loss_token(), Count{lost_}) {}
  int count() const { return *lost_; }

 private:
  struct Count {
    std::shared_ptr<std::atomic<int>> count;
    void operator()() const noexcept { ++*count; }
  };
  std::shared_ptr<std::atomic<int>> lost_;
  std::stop_callback<Count> on_loss_;
};

// A test of one adapter on one environment. TearDown() checks that nothing is left.
//
// Each test is compiled once and gets its adapter and environment as a parameter. A suite is
// instantiated by
//   INSTANTIATE_TEST_SUITE_P(, TheSuite, ::testing::ValuesIn(every_class_on({...})), pairing_name);
class SuiteTest : public ::testing::TestWithParam<Pairing> {
 protected:
  static inline const CohortOptions kFail{.on_node_lost = OnNodeLost::fail};

  void TearDown() override;

  static const LockAdapter& adapter() { return *GetParam().adapter; }
  SuiteEnvironment& environment() { return *environment_; }
  Client& connect(std::chrono::milliseconds session_timeout = SuiteEnvironment::kSessionTimeout) {
    return environment_->connect(session_timeout);
  }
  std::unique_ptr<SuiteLock> make(Client& client, const CohortOptions& options = {}) {
    return make_at(kPath, client, options);
  }
  std::unique_ptr<SuiteLock> make_at(const std::string& path, Client& client,
                                     const CohortOptions& options = {}) {
    return adapter().make(environment_->clients_of(client), path, options);
  }

  // Acquires as the adapter under test, for a new owner unless one is given.
  static Grant acquire(SuiteLock& lock, AcquireOptions options = {}) {
    return lock.acquire(with_new_owner(std::move(options)));
  }
  static Grant try_acquire(SuiteLock& lock) {
    return acquire(lock, {.deadline = Deadline::passed()});
  }
  static GrantFuture async_acquire(SuiteLock& lock, AcquireOptions options = {}) {
    return lock.async_acquire(with_new_owner(std::move(options)));
  }
  // Acquires as the adapter that excludes the adapter under test.
  static Grant rival_acquire(SuiteLock& lock, AcquireOptions options = {}) {
    return lock.rival_acquire(with_new_owner(std::move(options)));
  }
  static Grant rival_try_acquire(SuiteLock& lock) {
    return rival_acquire(lock, {.deadline = Deadline::passed()});
  }
  static GrantFuture rival_async_acquire(SuiteLock& lock, AcquireOptions options = {}) {
    return lock.rival_async_acquire(with_new_owner(std::move(options)));
  }

  bool reaches_nodes(std::size_t count) {
    return environment_->comes([&] { return environment_->nodes().size() == count; });
  }
  bool becomes_empty() { return reaches_nodes(0); }
  std::string node_at(std::size_t place) { return kPath + "/" + environment_->nodes().at(place); }
  // Waits until two znodes exist and neither is `old`.
  bool queues_again(const std::string& old);
  // Deletes, as an operator would, as many znodes of the hold as make it lost.
  void remove_nodes_of(const Grant& hold);
  void remove_parents();
  bool becomes_lost(const Grant& hold) {
    return environment_->comes_in_time([&] { return hold.state() == HoldState::lost; });
  }
  // Returns the result of the future, while time passes.
  template <class Future>
  auto get_in_time(Future& future) {
    static_cast<void>(environment_->comes_in_time([&] { return is_ready(future); }));
    return get(future);
  }
  // Waits for the future while no time passes.
  bool becomes_ready(const GrantFuture& future) {
    return environment_->comes([&] { return is_ready(future); });
  }

  // Runs `call` in a thread, which is joined at the end of the test.
  template <class Call>
  auto in_thread(Call call) {
    std::packaged_task<decltype(call())()> task(std::move(call));
    auto result = task.get_future();
    threads_.emplace_back(std::move(task));
    return result;
  }

 private:
  static AcquireOptions with_new_owner(AcquireOptions options);

  const std::unique_ptr<SuiteEnvironment> environment_ =
      make_environment(GetParam().environment, adapter().on_ensembles);
  std::vector<std::thread> threads_;
};

}  // namespace zklock::testing
