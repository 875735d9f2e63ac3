// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/core/child_nodes.h"
#include "zklock/recipes/election/candidate.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {

using namespace std::chrono_literals;
using detail::QueueView;
using detail::ViewScope;

/// A candidate for the leadership at LockWorld::path. It does nothing as the leader.
class TestCandidate final : public detail::Candidate {
 public:
  explicit TestCandidate(detail::ClientCore& core, bool until_finished = false, bool again = false,
                         std::chrono::milliseconds delay_min = std::chrono::milliseconds(10),
                         std::chrono::milliseconds delay_max = std::chrono::milliseconds(20))
      : Candidate(core, LockWorld::kPath,
                  {.again = again,
                   .until_finished = until_finished,
                   .retry_delay_min = delay_min,
                   .retry_delay_max = delay_max}) {}

 private:
  void on_began(
      const std::shared_ptr<detail::LeadershipState>& /*leadership_state*/) noexcept override {}
  void on_ended(
      const std::shared_ptr<detail::LeadershipState>& /*leadership_state*/) noexcept override {}
};

// The result of one proclamation.
struct ProclaimResult {
  FencingToken leader;
  std::string value;
  int outcomes = 0;
  std::optional<Errc> code;
};

// Clients 0 and 1 are candidates. Client 2 observes.
class ElectionWorld {
 public:
  static constexpr std::size_t kObserver = 2;

  explicit ElectionWorld(ViewScope scope = ViewScope::leadership()) : scope_(scope) {
    lock.connect_all();
    for (std::size_t c = 0; c < 2; ++c) {
      candidates.push_back(std::make_shared<TestCandidate>(lock.core(c), false, true));
      candidates[c]->contend();
      lock.world().run_all();
    }
    observe();
    lock.world().run_all();
  }
  ~ElectionWorld() {
    subscription.cancel();
    observer->stop();
    for (const auto& candidate : candidates) candidate->close();
    lock.world().run_all();
  }
  ElectionWorld(const ElectionWorld&) = delete;
  ElectionWorld& operator=(const ElectionWorld&) = delete;

  World& world() { return lock.world(); }
  SimEnsemble& ensemble() { return world().ensemble(); }
  Leadership leadership(std::size_t c) {
    const auto leadership_state = candidates[c]->leadership_state();
    return leadership_state ? leadership_state->leadership() : Leadership();
  }
  static std::string proclaimed_node(const Leadership& leader) {
    const std::string node = leader.node();
    const auto name = core::ZnodeName::parse(node.substr(node.rfind('/') + 1));
    return LockWorld::kPath + ("/" + core::proclamation_node(name->sequence));
  }

  // Has no effect if there is no leader.
  void proclaim(const Leadership& leader, const std::string& value,
                Deadline deadline = Deadline::never()) {
    const auto result = std::make_shared<ProclaimResult>(
        ProclaimResult{.leader = leader.token(), .value = value, .code = {}});
    results.push_back(result);
    proclaimed_.insert({leader.token().zxid, value});
    const auto completed = [result](const std::exception_ptr& error) {
      ++result->outcomes;
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Error& e) {
        result->code = e.errc();
      }
    };
    try {
      leader.async_proclaim(value, deadline, completed);
    } catch (const Error& e) {
      ++result->outcomes;
      result->code = e.errc();
    }
  }
  // Returns the first leader, which has proclaimed the value.
  Leadership proclaimed_by_leader(const std::string& value) {
    const Leadership leader = leadership(0);
    proclaim(leader, value);
    world().run_for(std::chrono::seconds(1));
    return leader;
  }

  const QueueView& view() const { return views.back(); }
  FencingToken leader_in_view() const {
    return views.empty() || view().lock.holders.empty() ? FencingToken{}
                                                        : view().lock.holders.front().token;
  }
  // Returns the stored value of that leader.
  std::optional<std::string> written(const Leadership& leader) {
    const Node* const node = ensemble().find(proclaimed_node(leader));
    const auto said = node == nullptr ? std::nullopt : core::Proclamation::parse(node->data);
    if (!said || said->leader != leader.token()) return std::nullopt;
    return said->value;
  }
  void observe() {
    observer =
        std::make_shared<detail::QueueObserver>(lock.path_lock(kObserver), scope_, Executor());
    subscription = observer->add([this](const QueueView& each) {
      views.push_back(each);
      check_view(each);
    });
  }

  LockWorld lock{3};
  std::vector<std::shared_ptr<TestCandidate>> candidates;
  std::shared_ptr<detail::QueueObserver> observer;
  Subscription subscription;
  std::vector<QueueView> views;
  std::vector<std::shared_ptr<ProclaimResult>> results;
  bool values_are_deleted = false;  // by hand
  std::string violation;            // of the promises to an observer

 private:
  void check_view(const QueueView& each) {
    if (!scope_.is_leadership) return;
    if (each.lock.holders.empty()) {
      if (each.proclaimed) violation = "a value without a leader";
      return;
    }
    const FencingToken leader = each.lock.holders.front().token;
    if (leader < highest_) violation = "back to a former leader";
    if (leader == highest_ && has_value_ && !each.proclaimed && !values_are_deleted) {
      violation = "back to before the first value";
    }
    highest_ = leader;
    has_value_ = each.proclaimed.has_value();
    if (each.proclaimed && !proclaimed_.contains({leader.zxid, *each.proclaimed})) {
      violation = "a value that this leader has not proclaimed: " + *each.proclaimed;
    }
  }

  const ViewScope scope_;
  FencingToken highest_;
  bool has_value_ = false;
  std::set<std::pair<std::int64_t, std::string>> proclaimed_;
};

}  // namespace zklock::model
