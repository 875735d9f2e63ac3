// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/survey.h"
#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_ensemble.h"
#include "zklock/testing/simulation/sim_tree.h"

namespace zklock::model {

using namespace std::chrono_literals;

/// Servers that reply at once from the tree of a simulated ensemble. They fail at every request
/// that is no plain read.
class TreeServers final : public ScriptedCoordinator {
 public:
  TreeServers(SimEnsemble& ensemble, ManualTime& time) : ensemble_(ensemble), time_(time) {}

  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    count(kind_of(request.operation));
    auto reply = before ? before(request.operation) : std::nullopt;
    if (!reply) {
      reply = read(ensemble_.tree(), request.operation, client_, ensemble_.exists_rule());
    }
    handler(*std::move(reply));
    return client::RequestId{++requests_};
  }
  std::string connection_problem() const override { return "no route to host"; }

  std::size_t count_of(OperationKind kind) const {
    return counts_.at(static_cast<std::size_t>(kind));
  }
  std::size_t requests() const noexcept { return requests_; }
  /// Returns the number of requests of each round. A round sets one timer.
  const std::vector<std::size_t>& rounds() const noexcept { return rounds_; }

  /// Called before each request. Its result replaces the reply.
  std::function<std::optional<Reply>(const Operation&)> before;

 private:
  void count(OperationKind kind) {
    EXPECT_TRUE(kind == OperationKind::list_children || kind == OperationKind::get)
        << "a survey only reads, without watches";
    ++counts_.at(static_cast<std::size_t>(kind));
    if (time_.due().size() != timers_) rounds_.push_back(0);
    timers_ = time_.due().size();
    ++rounds_.back();
  }

  SimEnsemble& ensemble_;
  ManualTime& time_;
  const Credential client_ = ensemble_.new_credential();
  std::array<std::size_t, kOperationKinds> counts_{};
  std::size_t requests_ = 0;
  std::size_t timers_ = 0;
  std::vector<std::size_t> rounds_;
};

class SurveyTest : public ::testing::Test {
 protected:
  void directory(const std::string& path) {
    ASSERT_EQ(ensemble_.create_container(path), Status::ok) << path;
  }
  /// Adds a contender to the queue at `path`. Returns its name.
  std::string contender(const std::string& path, const std::string& prefix = "lock-",
                        const std::string& owner = "somebody") {
    const auto name =
        ensemble_.create_sequential(path, prefix, "zklock 1\nowner=" + owner + "\n", session_);
    EXPECT_TRUE(name) << path;
    return name.value_or("");
  }
  /// Creates a lock path with one holder.
  void lock(const std::string& path) {
    directory(path);
    contender(path);
  }
  void unreadable(const std::string& path) {
    ensemble_.set_acl(path, {.everyone = AclEntry::all & ~AclEntry::read});
  }
  static SurveyOptions unlimited() { return {.requests_per_second = 0}; }
  /// Returns all that a survey finds.
  SurveyPage all(const std::string& root, SurveyOptions options = unlimited()) {
    Survey survey(*client_, root, options);
    SurveyPage sum;
    for (int pages = 0; !survey.is_complete(); ++pages) {
      if (pages == 1'000) {
        ADD_FAILURE() << "the survey does not end";
        break;
      }
      add(survey.next(1'000), sum);
    }
    return sum;
  }
  static void add(SurveyPage page, SurveyPage& sum) {
    std::ranges::move(page.locks, std::back_inserter(sum.locks));
    std::ranges::move(page.empty_znodes, std::back_inserter(sum.empty_znodes));
    std::ranges::move(page.unreadable, std::back_inserter(sum.unreadable));
    std::ranges::move(page.too_deep, std::back_inserter(sum.too_deep));
    sum.visited += page.visited;
  }
  static std::vector<std::string> paths(const SurveyPage& page) {
    std::vector<std::string> paths;
    for (const SurveyedLock& lock : page.locks) paths.push_back(lock.path);
    return paths;
  }
  static std::vector<std::string> nodes(const std::vector<Participant>& participants) {
    std::vector<std::string> nodes;
    for (const Participant& each : participants) nodes.push_back(each.node);
    return nodes;
  }
  static std::string path_of(const Operation& operation) {
    if (const auto* const list = std::get_if<client::request::ListChildren>(&operation)) {
      return list->path;
    }
    return std::get<client::request::Get>(operation).path;
  }
  static bool is_list(const Operation& operation) {
    return kind_of(operation) == OperationKind::list_children;
  }
  /// Returns the code of the Error that the next page ends with.
  static Errc error_of_next(Survey& survey) {
    try {
      static_cast<void>(survey.next());
    } catch (const Error& error) {
      return error.errc();
    }
    return Errc{};
  }

  SimClock clock_;
  SimEnsemble ensemble_{clock_};
  const SessionId session_ = ensemble_.open_session(Duration{});
  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::shared_ptr<TreeServers> servers_ = std::make_shared<TreeServers>(ensemble_, *time_);
  const std::unique_ptr<Client> client_ = make_client(servers_, time_);
};

}  // namespace zklock::model
