// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/suite/stages.h"

namespace zklock::testing {

inline constexpr std::size_t kEnsembles = 3;

// Three stages as one, for what needs several ensembles: simulated ones that know nothing of each
// other, or three chroots of one server, with sessions of their own. The process that connects has
// a client on each, and goes by the first. What happens, happens on all; what is asked, is asked of
// the first.
template <class S>
class Ensembles {
 public:
  static constexpr const char* name = S::name;
  static constexpr bool simulated = S::simulated;
  static constexpr auto kSessionTimeout = S::kSessionTimeout;
  static constexpr auto kLongSession = S::kLongSession;
  using Clients = std::array<Client*, kEnsembles>;

  Client& connect(std::chrono::milliseconds session_timeout) {
    return keep([&](S& stage) { return &stage.connect(session_timeout); });
  }
  template <class Edit>
  Client& connect_with(Edit edit) {
    return keep([&](S& stage) { return &stage.connect_with(edit); });
  }
  const Clients& clients_of(const Client& client) const {
    const auto found =
        std::ranges::find(processes_, &client, [](const Clients& clients) { return clients[0]; });
    if (found == processes_.end()) throw std::runtime_error("not a client of this stage");
    return *found;
  }
  S& at(std::size_t ensemble) { return stages_.at(ensemble); }

  auto now() const { return stages_[0].now(); }
  template <class Duration>
  Deadline in(Duration duration) const {
    return stages_[0].in(duration);
  }
  template <class Fact>
  bool comes(Fact fact) const {
    return stages_[0].comes(fact);
  }
  template <class Fact>
  bool comes_in_time(Fact fact) {
    return stages_[0].comes([&] {
      if (fact()) return true;
      for (S& stage : stages_) stage.let_time_pass();
      return false;
    });
  }
  void pass(core::Duration duration) {
    for (S& stage : stages_) stage.pass(duration);
  }
  void settle() { pass(core::Duration::zero()); }
  void lose_reply_to_create(const Client& client) { stages_[0].lose_reply_to_create(client); }

  std::vector<std::string> nodes(const std::string& path = kPath) { return stages_[0].nodes(path); }
  bool exists(const std::string& node) { return stages_[0].exists(node); }
  RawClient& raw() { return stages_[0].raw(); }
  void create(const std::string& path) {
    for (S& stage : stages_) stage.create(path);
  }
  // Under different numbers; it goes by its name in the first.
  std::string enqueue(const std::string& prefix) {
    std::array<std::string, kEnsembles> names;
    for (std::size_t i = 0; i < kEnsembles; ++i) names[i] = stages_[i].enqueue(prefix);
    enqueued_[names[0]] = names;
    return names[0];
  }
  void change(const std::string& node) {
    on_each(node, [](S& stage, const std::string& it) { stage.change(it); });
  }
  void remove(const std::string& node) {
    on_each(node, [](S& stage, const std::string& it) { stage.remove(it); });
  }
  void remove_all(const std::string& path) {
    for (S& stage : stages_) stage.remove_all(path);
  }
  void expire(const Client& client) {
    for (std::size_t i = 0; i < kEnsembles; ++i) stages_[i].expire(*clients_of(client)[i]);
  }
  void close(const Client& client) {
    for (Client* const each : clients_of(client)) each->close();
  }
  void stop_servers() {
    for (S& stage : stages_) stage.stop_servers();
  }
  void start_servers() {
    for (S& stage : stages_) stage.start_servers();
  }
  ::testing::AssertionResult nothing_left() {
    for (S& stage : stages_) {
      if (auto result = stage.nothing_left(); !result) return result;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  template <class Connect>
  Client& keep(Connect connect) {
    Clients clients{};
    std::ranges::transform(stages_, clients.begin(), connect);
    processes_.push_back(clients);
    return *clients[0];
  }
  // What others enqueued is everywhere; every other node is of one ensemble.
  template <class Act>
  void on_each(const std::string& node, Act act) {
    const auto found = enqueued_.find(node);
    if (found == enqueued_.end()) return act(stages_[0], node);
    for (std::size_t i = 0; i < kEnsembles; ++i) act(stages_[i], found->second[i]);
  }

  std::array<S, kEnsembles> stages_;
  std::vector<Clients> processes_;
  std::map<std::string, std::array<std::string, kEnsembles>> enqueued_;
};

}  // namespace zklock::testing
