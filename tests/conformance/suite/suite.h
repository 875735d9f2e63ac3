// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/composite_faces.h"
#include "conformance/suite/faces.h"
#include "conformance/suite/leader_faces.h"
#include "conformance/suite/stages.h"

namespace zklock::testing {

template <class F, class S>
struct Pairing {
  using Face = F;
  using Stage = typename F::template On<S>;
};

template <class... Lists>
struct Joined;
template <class... As>
struct Joined<::testing::Types<As...>> {
  using type = ::testing::Types<As...>;
};
template <class... As, class... Bs, class... Rest>
struct Joined<::testing::Types<As...>, ::testing::Types<Bs...>, Rest...>
    : Joined<::testing::Types<As..., Bs...>, Rest...> {};

template <class S, class List>
struct On;
template <class S, class... Faces>
struct On<S, FaceList<Faces...>> {
  using type = ::testing::Types<Pairing<Faces, S>...>;
};

// Every class, on each of the stages.
template <class... Stages>
using EveryClassOn = typename Joined<typename On<Stages, AllFaces>::type...,
                                     typename On<Stages, CompositeFaces>::type...,
                                     typename On<Stages, LeaderFaces>::type...>::type;

// "ReaderOnServers"; CMakeLists.txt runs each stage by this.
struct PairingName {
  template <class P>
  static std::string GetName(int) {
    return std::string(P::Face::name) + P::Stage::name;
  }
};

// Counts how often a loss is told.
class Told {
 public:
  template <class Grant>
  explicit Told(const Grant& hold)
      : lost_(std::make_shared<std::atomic<int>>(0)), on_loss_(hold.lost(), Count{lost_}) {}
  int lost() const { return *lost_; }

 private:
  struct Count {
    std::shared_ptr<std::atomic<int>> count;
    void operator()() const noexcept { ++*count; }
  };
  std::shared_ptr<std::atomic<int>> lost_;
  std::stop_callback<Count> on_loss_;
};

// A test of one face on one stage. At the end of each, whatever it did, nothing is left.
template <class P>
class SuiteTest : public ::testing::Test {
 protected:
  using TestedFace = typename P::Face;
  using Rival = typename TestedFace::Rival;
  using Lock = typename TestedFace::Lock;
  using Grant = typename TestedFace::Grant;
  using OwnStage = typename P::Stage;

  static inline const MutexOptions kFail{.on_node_lost = OnNodeLost::fail};

  void TearDown() override {
    for (std::thread& thread : threads_) thread.join();
    EXPECT_TRUE(stage_.nothing_left());
  }

  OwnStage& stage() { return stage_; }
  Client& connect(std::chrono::milliseconds session_timeout = Stage::kSessionTimeout) {
    return stage_.connect(session_timeout);
  }
  std::unique_ptr<Lock> make(Client& client, MutexOptions options = {}) {
    return make_at(kPath, client, std::move(options));
  }
  std::unique_ptr<Lock> make_at(const std::string& path, Client& client,
                                MutexOptions options = {}) {
    if constexpr (requires { stage_.clients_of(client); }) {
      return TestedFace::make(stage_.clients_of(client), path, std::move(options));
    } else {
      return TestedFace::make(client, path, std::move(options));
    }
  }

  // In the way of the face under test, for a new owner unless one is given.
  static AcquireOptions somebody(AcquireOptions options) {
    if (!options.owner) options.owner = Owner::unique();
    return options;
  }
  static Grant acquire(Lock& lock, AcquireOptions options = {}) {
    return TestedFace::acquire(lock, somebody(std::move(options)));
  }
  static Grant try_acquire(Lock& lock) { return acquire(lock, {.deadline = Deadline::passed()}); }
  static auto async_acquire(Lock& lock, AcquireOptions options = {}) {
    return TestedFace::async_acquire(lock, somebody(std::move(options)));
  }
  // As what it excludes.
  static Grant rival_acquire(Lock& lock, AcquireOptions options = {}) {
    return Rival::acquire(lock, somebody(std::move(options)));
  }
  static auto rival_async_acquire(Lock& lock, AcquireOptions options = {}) {
    return Rival::async_acquire(lock, somebody(std::move(options)));
  }

  bool reaches_nodes(std::size_t count) {
    return stage_.comes([&] { return stage_.nodes().size() == count; });
  }
  bool becomes_empty() { return reaches_nodes(0); }
  std::string node_at(std::size_t place) { return kPath + "/" + stage_.nodes().at(place); }
  // Another node than `old` stands last of two.
  bool queues_again(const std::string& old) {
    return stage_.comes_in_time([&] {
      const auto all = stage_.nodes();
      return all.size() == 2 &&
             std::ranges::none_of(all, [&](const auto& name) { return kPath + "/" + name == old; });
    });
  }
  // Takes away as much of it as lets it be lost, by the hand of an operator.
  void remove_nodes_of(const Grant& hold) {
    if constexpr (requires { stage_.at(0); }) {
      for (std::size_t i = 0; i < kEnsembles; ++i) stage_.at(i).remove(hold[i].node());
    } else {
      stage_.remove(hold.node());
    }
  }
  void remove_parents() {
    for (const std::string& path : TestedFace::paths(kPath)) stage_.remove_all(path);
  }
  bool becomes_lost(const Grant& hold) {
    return stage_.comes_in_time([&] { return hold.state() == HoldState::lost; });
  }
  // What the future brings, while time passes.
  template <class Future>
  auto get_in_time(Future& future) {
    static_cast<void>(stage_.comes_in_time([&] { return is_ready(future); }));
    return get(future);
  }

  // Without any more time passing.
  template <class Future>
  bool becomes_ready(const Future& future) {
    return stage_.comes([&] { return is_ready(future); });
  }

  // Runs `call` in a thread that is joined at the end of the test.
  template <class Call>
  auto in_thread(Call call) {
    std::packaged_task<decltype(call())()> task(std::move(call));
    auto result = task.get_future();
    threads_.emplace_back(std::move(task));
    return result;
  }

 private:
  OwnStage stage_;
  std::vector<std::thread> threads_;
};

}  // namespace zklock::testing
