// SPDX-License-Identifier: Apache-2.0
// Reports of a place to its contender, and the end of the place.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/revocation.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/local_queue.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

using core::AcquireState;
using core::Ownership;

// ---- reports to the contender -------------------------------------------------------------------

// A contender is in the place: lease_valid() is false without one.
void Place::grant() {
  holding_ = std::make_unique<Holding>(*this);
  holding_->since = core().scheduler().now();
  engine_->granted(fsm_.waited());
  contender()->granted();
  if (goes_by_number()) engine_->own_turn().granted(fsm_.sequence(), holding_->since);
}

void Place::fail(Errc error, const std::string& cause) {
  if (const auto who = contender()) who->failed(error, cause);
}

// The machine has ended without a grant: its znode is deleted or being deleted.
void Place::machine_ended() {
  leave_session();
  const auto work = std::exchange(work_, {});
  if (work != BackgroundWork::Id{}) core().work().end(work);
  const auto who = contender();
  contender_.reset();
  if (local_) local_->gone(*this);
  if (who) who->attempt_ended();
}

void Place::session_ended(SessionId session) {
  const LockEngine::Section section(*engine_);
  if (fsm_.state() != AcquireState::granted) return run(fsm_.session_ended(session));
  if (session == fsm_.session()) node_is_lost();
}

void Place::term_lapsed(const std::shared_ptr<core::LeaseTerm>& term) {
  const LockEngine::Section section(*engine_);
  if (fsm_.state() != AcquireState::granted || term != term_) return;
  if (const auto who = contender()) return who->lose(Contender::Loss::lease);
  if (local_) local_->lapsed(*this);
}

void Place::node_is_lost() {
  if (const auto who = contender()) return who->lose(Contender::Loss::node);
  if (local_) local_->node_gone(*this);
}

void Place::suspended(SessionId session) {
  const LockEngine::Section section(*engine_);
  const auto who = contender();
  if (who && session == fsm_.session()) who->suspended();
}

void Place::resumed(SessionId session) {
  const LockEngine::Section section(*engine_);
  const auto who = contender();
  if (who && session == fsm_.session()) who->resumed();
}

void Place::tick(int& requests) {
  const LockEngine::Section section(*engine_);
  const auto who = contender();
  const bool idle = !who && local_ && local_->idle_place().get() == this;
  if (!fsm_.has_node() || (!who && !idle)) return;
  const auto standing = idle ? Ownership::State::held : who->ownership().state();
  if (standing != Ownership::State::waiting && standing != Ownership::State::held) return;
  if (standing == Ownership::State::held) {
    watch_own();
    holding_->revocation.tick();
  } else if (requests > 0 && watch_own()) {
    --requests;
  }
  if (idle) local_->tick(*this);
}

bool Place::watch_own() {
  return name_settled() && own_watch_.tick();
}

void Place::own_node_gone() {
  if (!fsm_.has_node()) return;
  if (fsm_.state() != AcquireState::granted) return run(fsm_.own_node_deleted());
  node_is_lost();
  if (holding_ && !holding_->taken_along.empty()) remove(Manner::with_care);
}

void Place::path_began_again() {
  if (fsm_.has_node() && engine_->went_with_path(fsm_.token())) own_node_gone();
}

std::string Place::revocation_marker() const {
  return engine_->path().child(core::revocation_marker(fsm_.sequence()));
}

void Place::asked_to_release() {
  if (const auto who = contender()) who->asked_to_release();
  if (local_) local_->asked_to_release(*this);
}

void Place::forced_to_release() {
  if (const auto who = contender()) return who->forced_to_release();
  if (local_) local_->asked_to_release(*this);
}

/// Returns whether OwnTurn may use the grants of this place: the contender waits, guesses its
/// predecessor, and creates a single child.
bool Place::goes_by_number() const noexcept {
  const bool guesses = policy().wait && !policy().lists;
  return stands_by_number() && guesses && policy().lock_delay.count() == 0;
}

bool Place::stands_by_number() const noexcept {
  return policy().rule.is_mutex() && !policy().gate;
}

// ---- withdrawal and release ---------------------------------------------------------------------

void Place::give_up() {
  core::AcquireEffects effects = fsm_.give_up();
  leave();
  run(std::move(effects));
}

void Place::leave() {
  contender_.reset();
  if (!fsm_.over()) work_ = core().work().begin();
}

void Place::leave_session() noexcept {
  core().keeper().dismiss(*this);
  end_delay();
  if (holding_) holding_->downgrade.end();
  own_watch_.disarm();
  if (!holding_) return;
  holding_->revocation.disarm();
  holding_->arrivals.end();
}

// The znode of a mutex stays, because Curator's mutexes would not wait for a reader's znode.
void Place::downgrade() {
  const bool left_delay = fsm_.leaves_delay();
  leave_no_delay();
  if (policy().rule.is_writer()) return holding_->downgrade.begin();
  if (left_delay) remove_unwanted_delay_marker();
}

void Place::take_along(std::string path) {
  auto& paths = holding_->taken_along;
  if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
}

std::vector<client::Deleter::Companion> Place::take_companions() {
  std::vector<Companion> companions;
  if (holding_) {
    for (std::string& path : std::exchange(holding_->taken_along, {})) {
      companions.push_back({std::move(path), fsm_.token()});
    }
  }
  const std::string marker = take_unwanted_delay_marker();
  if (!marker.empty()) companions.push_back({engine_->path().child(marker)});
  return companions;
}

std::vector<std::string> Place::own_names() const {
  if (name_in_doubt()) return {fsm_.own_name(), holding_->downgrade.name()};
  return {own_name()};
}

std::string Place::data_as_reader() const {
  core::NodeData data = core().identify(requester_);
  data.attempt = fsm_.attempt();
  data.token = fsm_.token().zxid;
  data.since_ms = queued_ms_;
  return data.encode();
}

bool Place::is_own(const client::Reply& node) const {
  return reads_on() ? holding_->downgrade.made(node) : node.token == fsm_.token();
}

/// If the lock was free, and was held for a shorter time than its acquire took, probably no
/// contender waits. Then the release is not announced, which saves a write. A contender that waits
/// all the same lists the children, as after every delete that was not announced.
bool Place::may_be_awaited() {
  std::optional<bool>& awaited = holding_->awaited;
  if (!awaited) {
    const core::Duration way =
        std::min(holding_->since - wanted_since_, core().keeper().timeout() / 20);
    awaited = fsm_.waited() || held_for() >= way;
  }
  return *awaited;
}

// A release is announced only if a successor can rely on it: see Decision::follows_release.
client::Deleter::Manner Place::manner_of_release() {
  const bool writes = !reads_on() && !name_in_doubt();
  const bool heard = policy().rule.access == Access::exclusive && writes && may_be_awaited();
  return core().settings().announces && heard ? client::Deleter::Manner::announced
                                              : client::Deleter::Manner::plainly;
}

// The znodes that are deleted with the own znode must be deleted before the next grant. So must the
// own znode, if a transaction of the user may check it.
std::shared_ptr<Place> Place::own_successor() const {
  const bool goes_alone = !fsm_.leaves_delay() && holding_->taken_along.empty();
  if (!stands_by_number() || !goes_alone || holding_->known_by_name) return nullptr;
  auto next = engine_->own_successors().of(fsm_.token());
  return next && next->fsm_.waits_for_release() ? next : nullptr;
}

// A znode that an unanswered request creates is deleted too, because the delete is executed after
// that request.
void Place::remove(Manner manner, BackgroundWork::Id work) {
  if (engine_->went_with_path(fsm_.token())) return;  // the name may be of another znode now
  const bool let_go = manner == Manner::release || manner == Manner::to_own_successor;
  const bool was_held = fsm_.state() == AcquireState::granted && let_go;
  std::function<void()> gone;
  if (was_held && stands_by_number()) {
    gone = engine_->own_turn().let_go(fsm_.sequence(), fsm_.token());
  }
  for (const std::string& name : own_names()) {
    // The companions and `gone` belong to the first name.
    remove_node(fsm_.session(), name, take_companions(), deletion(manner), work,
                std::exchange(gone, {}));
  }
}

client::Deleter::Manner Place::deletion(Manner manner) {
  switch (manner) {
    case Manner::release: return manner_of_release();
    case Manner::to_own_successor:
    case Manner::plainly: return client::Deleter::Manner::plainly;
    case Manner::with_care: return client::Deleter::Manner::with_care;
  }
  return client::Deleter::Manner::with_care;
}

void Place::remove_node(SessionId session, const std::string& name,
                        std::vector<Companion> companions, client::Deleter::Manner manner,
                        BackgroundWork::Id work, std::function<void()> gone) {
  own_watch_.forget();
  client::Deleter::Node node{.path = engine_->path().child(name)};
  // A delay marker has a unique name, so its czxid need not be checked.
  if (!core::DelayMarker::parse(name)) node.token = fsm_.token();
  node.companions = std::move(companions);
  core().remove(session, std::move(node), manner, std::move(gone), work);
}

}  // namespace zklock::recipes
