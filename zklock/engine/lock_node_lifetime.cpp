// SPDX-License-Identifier: Apache-2.0
// Reports of a lock node to its contender, and the end of the lock node.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/release_request_data.h"
#include "zklock/engine/cohort.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

using core::AcquireState;
using core::Ownership;

// ---- reports to the contender -------------------------------------------------------------------

// A contender is in the lock node: lease_valid() is false without one.
void LockNode::grant() {
  holding_ = std::make_unique<Holding>(*this);
  holding_->since = core().scheduler().now();
  path_lock_->granted(fsm_.waited());
  contender()->granted();
  if (goes_by_number()) path_lock_->sequence_hint().granted(fsm_.sequence(), holding_->since);
}

void LockNode::fail(Errc error, const std::string& cause) {
  if (const auto who = contender()) who->failed(error, cause);
}

// The machine has ended without a grant: its znode is deleted or being deleted.
void LockNode::machine_ended() {
  end_watches();
  const auto work = std::exchange(work_, {});
  if (work != BackgroundWork::Id{}) core().work().end(work);
  const auto who = contender();
  contender_.reset();
  if (local_) local_->gone(*this);
  if (who) who->attempt_ended();
}

void LockNode::session_ended(SessionId session) {
  const PathLock::Section section(*path_lock_);
  if (fsm_.state() != AcquireState::granted) return run(fsm_.on_session_ended(session));
  if (session == fsm_.session()) node_is_lost();
}

void LockNode::on_lease_expired(const std::shared_ptr<core::Lease>& lease) {
  const PathLock::Section section(*path_lock_);
  if (fsm_.state() != AcquireState::granted || lease != lease_) return;
  if (const auto who = contender()) return who->lose(Contender::Loss::lease);
  if (local_) local_->lapsed(*this);
}

void LockNode::node_is_lost() {
  if (const auto who = contender()) return who->lose(Contender::Loss::node);
  if (local_) local_->node_gone(*this);
}

void LockNode::suspended(SessionId session) {
  const PathLock::Section section(*path_lock_);
  const auto who = contender();
  if (who && session == fsm_.session()) who->suspended();
}

void LockNode::resumed(SessionId session) {
  const PathLock::Section section(*path_lock_);
  const auto who = contender();
  if (who && session == fsm_.session()) who->resumed();
}

void LockNode::tick(int& requests) {
  const PathLock::Section section(*path_lock_);
  const auto who = contender();
  const bool idle = !who && local_ && local_->idle_node().get() == this;
  if (!fsm_.has_node() || (!who && !idle)) return;
  const auto standing = idle ? Ownership::State::held : who->ownership().state();
  if (standing != Ownership::State::waiting && standing != Ownership::State::held) return;
  if (standing == Ownership::State::held) {
    watch_own();
    holding_->release_request.tick();
  } else if (requests > 0 && watch_own()) {
    --requests;
  }
  if (idle) local_->tick(*this);
}

bool LockNode::watch_own() {
  return name_settled() && own_watch_.tick();
}

void LockNode::on_own_node_deleted() {
  if (!fsm_.has_node()) return;
  if (fsm_.state() != AcquireState::granted) return run(fsm_.on_own_node_deleted());
  node_is_lost();
  if (holding_ && !holding_->siblings.empty()) remove(Manner::with_care);
}

void LockNode::on_path_recreated() {
  if (fsm_.has_node() && path_lock_->is_stale(fsm_.token())) on_own_node_deleted();
}

std::string LockNode::release_request_path() const {
  return path_lock_->path().child(core::release_request_path(fsm_.sequence()));
}

void LockNode::on_release_requested() {
  if (const auto who = contender()) who->on_release_requested();
  if (local_) local_->on_release_requested(*this);
}

void LockNode::on_release_forced() {
  if (const auto who = contender()) return who->on_release_forced();
  if (local_) local_->on_release_requested(*this);
}

/// Returns whether SequenceHint may use the grants of this lock node: the contender waits, guesses
/// its predecessor, and creates a single child.
bool LockNode::goes_by_number() const noexcept {
  const bool guesses = policy().wait && !policy().lists;
  return stands_by_number() && guesses && policy().lock_delay.count() == 0;
}

bool LockNode::stands_by_number() const noexcept {
  return policy().rule.is_mutex() && !policy().gate;
}

// ---- withdrawal and release ---------------------------------------------------------------------

void LockNode::withdraw() {
  core::AcquireEffects effects = fsm_.withdraw();
  leave();
  run(std::move(effects));
}

void LockNode::leave() {
  contender_.reset();
  if (!fsm_.has_ended()) work_ = core().work().begin();
}

void LockNode::end_watches() noexcept {
  core().keeper().dismiss(*this);
  end_delay();
  if (holding_) holding_->downgrade.end();
  own_watch_.disarm();
  if (!holding_) return;
  holding_->release_request.disarm();
  holding_->arrivals.end();
}

// The znode of a mutex stays, because Curator's mutexes would not wait for a reader's znode.
void LockNode::downgrade() {
  const bool left_delay = fsm_.leaves_delay();
  cancel_lock_delay();
  if (policy().rule.is_writer()) return holding_->downgrade.begin();
  if (left_delay) remove_unwanted_delay_marker();
}

void LockNode::delete_with_node(std::string path) {
  auto& paths = holding_->siblings;
  if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
}

std::vector<NodeDeleter::SiblingNode> LockNode::take_siblings() {
  std::vector<SiblingNode> siblings;
  if (holding_) {
    for (std::string& path : std::exchange(holding_->siblings, {})) {
      siblings.push_back({std::move(path), fsm_.token()});
    }
  }
  const std::string marker = take_unwanted_delay_marker();
  if (!marker.empty()) siblings.push_back({path_lock_->path().child(marker)});
  return siblings;
}

std::vector<std::string> LockNode::own_names() const {
  if (name_in_doubt()) return {fsm_.own_name(), holding_->downgrade.name()};
  return {own_name()};
}

std::string LockNode::data_as_reader() const {
  core::ZnodeData data = core().identify(requester_);
  data.attempt = fsm_.attempt();
  data.token = fsm_.token().zxid;
  data.since_ms = queued_ms_;
  return data.encode();
}

bool LockNode::is_own(const client::Reply& node) const {
  return reads_on() ? holding_->downgrade.made(node) : node.token == fsm_.token();
}

/// If the lock was free, and was held for a shorter time than its acquire took, probably no
/// contender waits. Then the release is not announced, which saves a write. A contender that waits
/// all the same lists the children, as after every delete that was not announced.
bool LockNode::may_be_awaited() {
  std::optional<bool>& awaited = holding_->awaited;
  if (!awaited) {
    const core::Duration way =
        std::min(holding_->since - wanted_since_, core().keeper().timeout() / 20);
    awaited = fsm_.waited() || held_for() >= way;
  }
  return *awaited;
}

// A release is announced only if a successor can rely on it: see Decision::follows_release.
NodeDeleter::Manner LockNode::manner_of_release() {
  const bool writes = !reads_on() && !name_in_doubt();
  const bool heard = policy().rule.access == Access::exclusive && writes && may_be_awaited();
  return core().settings().announces && heard ? NodeDeleter::Manner::announced
                                              : NodeDeleter::Manner::plainly;
}

// The znodes that are deleted with the own znode must be deleted before the next grant. So must the
// own znode, if a transaction of the user may check it.
std::shared_ptr<LockNode> LockNode::local_successor() const {
  const bool goes_alone = !fsm_.leaves_delay() && holding_->siblings.empty();
  if (!stands_by_number() || !goes_alone || holding_->known_by_name) return nullptr;
  auto next = path_lock_->local_handoff().of(fsm_.token());
  return next && next->fsm_.waits_for_release() ? next : nullptr;
}

// A znode that an unanswered request creates is deleted too, because the delete is executed after
// that request.
void LockNode::remove(Manner manner, BackgroundWork::Id work) {
  if (path_lock_->is_stale(fsm_.token())) return;  // the name may be of another znode now
  const bool release_node = manner == Manner::release || manner == Manner::to_own_successor;
  const bool was_held = fsm_.state() == AcquireState::granted && release_node;
  std::function<void()> gone;
  if (was_held && stands_by_number()) {
    gone = path_lock_->sequence_hint().release_node(fsm_.sequence(), fsm_.token());
  }
  for (const std::string& name : own_names()) {
    // The siblings and `gone` belong to the first name.
    remove_node(fsm_.session(), name, take_siblings(), deletion(manner), work,
                std::exchange(gone, {}));
  }
}

NodeDeleter::Manner LockNode::deletion(Manner manner) {
  switch (manner) {
    case Manner::release: return manner_of_release();
    case Manner::to_own_successor:
    case Manner::plainly: return NodeDeleter::Manner::plainly;
    case Manner::with_care: return NodeDeleter::Manner::with_care;
  }
  return NodeDeleter::Manner::with_care;
}

void LockNode::remove_node(SessionId session, const std::string& name,
                           std::vector<SiblingNode> siblings, NodeDeleter::Manner manner,
                           BackgroundWork::Id work, std::function<void()> gone) {
  own_watch_.forget();
  NodeDeleter::Node node{.path = path_lock_->path().child(name)};
  // A delay marker has a unique name, so its czxid need not be checked.
  if (!core::DelayMarker::parse(name)) node.token = fsm_.token();
  node.siblings = std::move(siblings);
  core().remove(session, std::move(node), manner, std::move(gone), work);
}

}  // namespace zklock::detail
