// SPDX-License-Identifier: Apache-2.0
// The changes that other programs make to the znodes.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "tests/model/simulator/injector.h"
#include "zklock/core/znode_name.h"

namespace zklock::simulator {

using std::chrono::microseconds;

std::vector<std::string> Injector::contenders(const std::string& path) const {
  std::vector<std::string> names;
  const model::Node* const parent = universe_.ensemble(0).find(path);
  if (parent == nullptr) return names;
  for (const std::string& name : parent->children) {
    if (core::parse_znode_name(name)) names.push_back(path + "/" + name);
  }
  std::ranges::sort(names);
  return names;
}

void Injector::to_tree(const PlanStep& step) {
  SimEnsemble& servers = universe_.ensemble(0);
  const std::string path = path_of(step.salt % setup_.paths);
  const Duration length = microseconds(step.length);
  switch (step.fault) {
    case Fault::parent_deleted: return delete_parent(path);
    case Fault::containers_reaped: servers.reap_containers(); return;
    case Fault::foreign_children:
      stranger(path, "lock-x", {}, length);
      stranger(path, "lock-+", {}, length);
      return stranger(path, "\x1b[31mlock_", {}, length);
    case Fault::name_ahead: return name_ahead(step, path);
    case Fault::foreign_contender: return stranger(path, "lock-", "198.51.100.7", length);
    case Fault::node_deleted: return delete_node(step, path);
    case Fault::node_copied: {
      const auto all = contenders(path);
      if (all.empty()) return;
      const std::string& whose = all[static_cast<std::size_t>(step.salt) % all.size()];
      return stranger(path, "lock-", servers.find(whose)->data, length);
    }
    case Fault::node_written: return write_node(step, path);
    case Fault::sequence_near_end:
      return set_counter(step, path, core::kFirstUnusableSequence.value - 2);
    case Fault::sequence_at_end:
      return set_counter(step, path, std::numeric_limits<std::int32_t>::max());
    case Fault::sequence_negative:
      return set_counter(step, path, std::numeric_limits<std::int32_t>::min() + step.salt);
    default: return;
  }
}

// Other programs cannot write a contender's znode unless the user has set a weaker ACL. Then a
// create whose reply was lost cannot be recognized. So only the znodes of granted holds are
// written.
void Injector::write_node(const PlanStep& step, const std::string& path) {
  auto all = contenders(path);
  std::erase_if(all, [this](const std::string& node) { return !users_.is_held(node); });
  if (all.empty() || setup_.announces != 0) {
    --counts_[static_cast<std::size_t>(step.fault)];
    return;
  }
  universe_.ensemble(0).set_data(all[static_cast<std::size_t>(step.salt) % all.size()],
                                 std::string(core::kReleasedData));
}

void Injector::delete_node(const PlanStep& step, const std::string& path) {
  const auto all = contenders(path);
  if (all.empty()) {
    --counts_[static_cast<std::size_t>(step.fault)];
    return;
  }
  const std::string& victim = all[static_cast<std::size_t>(step.salt / 7) % all.size()];
  users_.node_taken(0, victim);
  universe_.ensemble(0).remove(victim);
}

void Injector::delete_parent(const std::string& path) {
  SimEnsemble& servers = universe_.ensemble(0);
  const model::Node* const parent = servers.find(path);
  if (parent == nullptr) return;
  const auto names = parent->children;
  for (const std::string& name : names) {
    users_.node_taken(0, path + "/" + name);
    servers.remove(path + "/" + name);
  }
  servers.remove(path);
  users_.permits_went(path);
}

void Injector::stranger(const std::string& path, const std::string& prefix, std::string data,
                        Duration length) {
  history_writer_.expect_stranger();
  const auto name = universe_.ensemble(0).create_sequential(path, prefix, std::move(data));
  history_writer_.expect_no_stranger();
  if (name) has_made(path + "/" + *name, length);
}

void Injector::name_ahead(const PlanStep& step, const std::string& path) {
  SimEnsemble& servers = universe_.ensemble(0);
  const model::Node* const parent = servers.find(path);
  if (parent == nullptr || !core::is_usable({parent->counter})) return;
  const core::Sequence ahead{parent->counter + 1 + step.salt % 3};
  const std::string node = path + "/" + core::ZnodeName::make(core::kLockPrefix, ahead).text;
  history_writer_.expect_stranger();
  const auto status = servers.create(node);
  history_writer_.expect_no_stranger();
  if (status == core::Status::ok) has_made(node, microseconds(step.length));
}

void Injector::has_made(const std::string& node, Duration length) {
  const Stranger made{node, universe_.ensemble(0).find(node)->czxid};
  strangers_.push_back(made);
  later(length, [this, made] { remove_stranger(made); });
}

// Another znode can have the name by now.
void Injector::remove_stranger(const Stranger& stranger) {
  const model::Node* const node = universe_.ensemble(0).find(stranger.path);
  if (node == nullptr || node->czxid != stranger.czxid) return;
  universe_.ensemble(0).remove(stranger.path);
}

// Sets the next sequence number. Existing contenders keep theirs.
void Injector::set_counter(const PlanStep& step, const std::string& path, std::int32_t next) {
  SimEnsemble& servers = universe_.ensemble(0);
  // A shared permit count prevents that the path is recreated; see
  // zklock/guides/services.md, "Sizes and counters".
  const bool renewable = std::ranges::none_of(
      setup_.objects, [](const ObjectPlan& object) { return object.kind == LockClass::counted; });
  const model::Node* const parent = servers.find(path);
  // The counter never goes back, except below 0 at its end.
  const bool ahead =
      parent != nullptr && parent->counter >= 0 && (next < 0 || next > parent->counter);
  if (renewable && ahead) return servers.set_counter(path, next);
  --counts_[static_cast<std::size_t>(step.fault)];
}

}  // namespace zklock::simulator
