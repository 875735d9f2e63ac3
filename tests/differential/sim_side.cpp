// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/sim_side.h"

#include <algorithm>
#include <limits>

namespace zklock::differential {

void SimSide::begin(const Script& script) {
  const auto closes =
      std::count_if(script.steps.begin(), script.steps.end(),
                    [](const ScriptStep& step) { return step.kind == ScriptStep::Kind::close; });
  world_.reset();
  world_.emplace(kClients + static_cast<std::size_t>(closes));
  world_->ensemble().set_exists_rule(exists_rule_);
  started_ = 0;
  if (script.left_to_end) {
    end_directory_ = "/e";
    world_->ensemble().create(end_directory_);
    world_->ensemble().set_counter(end_directory_,
                                   std::numeric_limits<std::int32_t>::max() - *script.left_to_end);
  }
  directory_ = "/s";
  world_->ensemble().create(directory_);
  for (std::size_t c = 0; c < kClients; ++c) start(c);
  journal_.begin_script();
}

void SimSide::start(std::size_t client) {
  at_.at(client) = started_++;
  current(client).start(session_logs_.at(client));
  world_->run_all();
}

bool SimSide::settle() {
  world_->run_all();
  return journal_.has_all_replies();
}

void SimSide::close(std::size_t client) {
  current(client).close();
  start(client);
}

void SimSide::expire(std::size_t client) {
  current(client).expire();
  world_->run_all();
}

Status SimSide::create(const std::string& path, const std::string& data, std::int32_t everyone) {
  return world_->ensemble().create(path, data, {}, {.everyone = everyone});
}

Status SimSide::set_data(const std::string& path, const std::string& data) {
  return world_->ensemble().set_data(path, data);
}

Status SimSide::set_acl(const std::string& path, std::int32_t everyone) {
  return world_->ensemble().set_acl(path, {.everyone = everyone});
}

Status SimSide::remove(const std::string& path) {
  return world_->ensemble().remove(path);
}

std::vector<std::string> SimSide::children(const std::string& path) {
  const model::Node* node = world_->ensemble().find(path);
  if (node == nullptr) return {};
  std::vector<std::string> names = node->children;
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace zklock::differential
