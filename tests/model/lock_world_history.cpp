// SPDX-License-Identifier: Apache-2.0
// Records what happens in a LockWorld, for the Checker.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/model/lock_world.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {

/// Records the events of the lock znodes, and of the permit count.
class LockWorld::NodeEvents final : public SimEnsemble::Server {
 public:
  explicit NodeEvents(LockWorld& world) : world_(world) { world.world_.ensemble().attach(*this); }

  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& /*acl*/) override {
    switch (event) {
      case WatchEvent::created: return world_.record_made(path);
      case WatchEvent::deleted: return world_.record_deleted(path);
      case WatchEvent::changed: return record_change(path);
      case WatchEvent::children: return;
    }
  }
  void on_session_gone(SessionId) override {}

 private:
  void record_change(const std::string& path) {
    // Another program announces a release, so the next contender does not wait for the znode.
    const bool is_by_hand = world_.world_.ensemble().acting() == SessionId{};
    if (is_by_hand) world_.record_deleted(path);
    if (path != count_path()) return;
    const auto count = core::parse_permit_count(world_.world_.ensemble().find(path)->data);
    if (count) world_.record({.kind = Event::Kind::permits_set, .number = *count});
  }

  LockWorld& world_;
};

void LockWorld::begin_history() {
  node_events_ = std::make_shared<NodeEvents>(*this);
}

void LockWorld::Watcher::operator()() const {
  ++world->losses_notified_[call];
  world->record({.kind = Event::Kind::notified, .hold = number_of(call)});
}

void LockWorld::record(Event event) {
  event.at = Instant(Duration(recorded_at_));
  event.resource = resource_;
  checker_.see(event);
}

void LockWorld::query_holds() {
  ++recorded_at_;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    CallResult& call = *calls_[i];
    // A paused process cannot query its holds.
    if (!call.is_recorded || world_.client(call.client).is_paused()) continue;
    if (!call.hold) {
      call.is_recorded = false;
      record({.kind = Event::Kind::released, .flag = true, .hold = number_of(i)});
      continue;
    }
    const bool lost = call.hold.state() == HoldState::lost;
    record({.kind = lost ? Event::Kind::said_lost : Event::Kind::said_held,
            .flag = true,
            .hold = number_of(i)});
  }
}

void LockWorld::record_made(const std::string& path) {
  const std::string parent = std::string(kPath) + "/";
  if (!path.starts_with(parent)) return;
  const Node& node = *world_.ensemble().find(path);
  const auto made = contender_made(std::string_view(path).substr(parent.size()), node, false);
  if (!made) return;
  tokens_[path] = made->token;
  record(*made);
}

void LockWorld::record_deleted(const std::string& path) {
  const auto made = tokens_.extract(path);
  if (made.empty()) return;
  const FencingToken token = made.mapped();
  record({.kind = Event::Kind::deleted, .token = token, .text = path});
  if (world_.ensemble().acting() != SessionId{}) return;
  for (std::size_t i = 0; i < calls_.size(); ++i) {  // deleted by hand
    const bool is_taken = calls_[i]->is_recorded && calls_[i]->token.zxid == token.zxid;
    if (is_taken) record({.kind = Event::Kind::taken, .hold = number_of(i)});
  }
}

}  // namespace zklock::model
