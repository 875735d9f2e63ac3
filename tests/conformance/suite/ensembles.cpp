// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/ensembles.h"

#include <algorithm>
#include <stdexcept>

namespace zklock::testing {

Ensembles::Ensembles(const std::function<std::unique_ptr<SuiteEnvironment>()>& make) {
  std::ranges::generate(stages_, make);
}

template <class Connect>
Client& Ensembles::keep(Connect connect) {
  auto& process = processes_.emplace_back();
  for (const auto& environment : stages_) process.push_back(&connect(*environment));
  return *process[0];
}

Client& Ensembles::connect(std::chrono::milliseconds session_timeout) {
  return keep([&](SuiteEnvironment& environment) -> Client& {
    return environment.connect(session_timeout);
  });
}

Client& Ensembles::connect_with(const std::function<void(ClientOptions&)>& edit) {
  return keep(
      [&](SuiteEnvironment& environment) -> Client& { return environment.connect_with(edit); });
}

Client& Ensembles::connect_slowly(std::chrono::milliseconds delay) {
  return keep(
      [&](SuiteEnvironment& environment) -> Client& { return environment.connect_slowly(delay); });
}

std::vector<Client*> Ensembles::clients_of(Client& client) {
  const auto found =
      std::ranges::find(processes_, &client, [](const auto& process) { return process[0]; });
  if (found == processes_.end()) throw std::runtime_error("not a client of this environment");
  return *found;
}

void Ensembles::close(Client& client) {
  for (Client* const each : clients_of(client)) each->close();
}

void Ensembles::create(const std::string& path) {
  for (const auto& environment : stages_) environment->create(path);
}

std::string Ensembles::enqueue(const std::string& prefix) {
  std::array<std::string, kEnsembles> names;
  for (std::size_t i = 0; i < kEnsembles; ++i) names[i] = stages_[i]->enqueue(prefix);
  enqueued_[names[0]] = names;
  return names[0];
}

template <class Act>
void Ensembles::on_each(const std::string& node, Act act) {
  const auto found = enqueued_.find(node);
  if (found == enqueued_.end()) return act(*stages_[0], node);
  for (std::size_t i = 0; i < kEnsembles; ++i) act(*stages_[i], found->second[i]);
}

void Ensembles::change(const std::string& node) {
  on_each(node,
          [](SuiteEnvironment& environment, const std::string& it) { environment.change(it); });
}

void Ensembles::remove(const std::string& node) {
  on_each(node,
          [](SuiteEnvironment& environment, const std::string& it) { environment.remove(it); });
}

void Ensembles::remove_all(const std::string& path) {
  for (const auto& environment : stages_) environment->remove_all(path);
}

void Ensembles::expire(Client& client) {
  const auto clients = clients_of(client);
  for (std::size_t i = 0; i < kEnsembles; ++i) stages_[i]->expire(*clients[i]);
}

void Ensembles::stop_servers() {
  for (const auto& environment : stages_) environment->stop_servers();
}

void Ensembles::start_servers() {
  for (const auto& environment : stages_) environment->start_servers();
}

::testing::AssertionResult Ensembles::nothing_left() {
  for (const auto& environment : stages_) {
    if (auto result = environment->nothing_left(); !result) return result;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace zklock::testing
