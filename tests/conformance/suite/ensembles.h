// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/suite/environment.h"

namespace zklock::testing {

inline constexpr std::size_t kEnsembles = 3;

// Three environments as one, for classes that need several ensembles. On the simulation they are
// three independent ensembles, on servers three chroots of one server with separate sessions. A
// process has a client on each environment; connect() returns the one on the first. Actions apply
// to all environments, queries to the first.
class Ensembles : public SuiteEnvironment {
 public:
  explicit Ensembles(const std::function<std::unique_ptr<SuiteEnvironment>()>& make);

  bool simulated() const override { return stages_[0]->simulated(); }

  Client& connect(std::chrono::milliseconds session_timeout) override;
  Client& connect_with(const std::function<void(ClientOptions&)>& edit) override;
  Client& connect_slowly(std::chrono::milliseconds delay) override;
  std::vector<Client*> clients_of(Client& client) override;
  void close(Client& client) override;
  std::size_t ensembles() const override { return kEnsembles; }
  SuiteEnvironment& ensemble(std::size_t index) override { return *stages_.at(index); }

  core::Instant now() const override { return stages_[0]->now(); }
  bool comes(const Fact& fact) const override { return stages_[0]->comes(fact); }
  bool comes_in_time(const Fact& fact) const override { return stages_[0]->comes_in_time(fact); }
  void pass(core::Duration duration) override { stages_[0]->pass(duration); }
  void lose_reply_to_create(Client& client) override { stages_[0]->lose_reply_to_create(client); }

  std::vector<std::string> nodes(const std::string& path) override {
    return stages_[0]->nodes(path);
  }
  bool exists(const std::string& node) override { return stages_[0]->exists(node); }
  RawClient& raw() override { return stages_[0]->raw(); }
  void create(const std::string& path) override;
  // The znodes of the environments have different sequence numbers. Returns the name on the first
  // environment.
  std::string enqueue(const std::string& prefix) override;
  void change(const std::string& node) override;
  void remove(const std::string& node) override;
  void remove_all(const std::string& path) override;
  void expire(Client& client) override;
  void stop_servers() override;
  void start_servers() override;
  ::testing::AssertionResult nothing_left() override;

 private:
  template <class Connect>
  Client& keep(Connect connect);
  // Calls `act` on each environment if enqueue() created the znode, otherwise on the first
  // environment only.
  template <class Act>
  void on_each(const std::string& node, Act act);

  std::array<std::unique_ptr<SuiteEnvironment>, kEnsembles> stages_;
  std::vector<std::vector<Client*>> processes_;
  std::map<std::string, std::array<std::string, kEnsembles>> enqueued_;
};

}  // namespace zklock::testing
