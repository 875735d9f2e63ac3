// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/late_creates.h"

#include <algorithm>
#include <utility>

#include "zklock/core/queue_rule.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/path_context.h"

namespace zklock::detail {

namespace request = client::request;

namespace {

constexpr int kLooksPerAttempt = 2;

}  // namespace

void LateCreates::add(core::SessionId session, std::string attempt) {
  path_.assert_held();
  if (std::exchange(session_, session) != session) {
    attempts_.clear();
    is_looking_ = false;
  }
  if (attempts_.size() == kMostAttempts) attempts_.pop_front();
  attempts_.push_back({.id = std::move(attempt)});
  if (!is_looking_) look_later();
}

/// Returns a callback that makes the next step of a look. It keeps the path lock alive, which may
/// have no public object and no contender any more.
template <class Step>
auto LateCreates::of_this_session(Step step) {
  return
      [this, path = path_.shared_from_this(), session = session_, step](const auto&... arguments) {
        const EngineLock lock(path->entry());
        if (session == session_) step(arguments...);
      };
}

/// Returns whether the look goes on after `reply`.
bool LateCreates::goes_on(const client::Reply& reply) {
  switch (core::sort_of(reply.status)) {
    case core::StatusSort::session:
    case core::StatusSort::client_ended:
      attempts_.clear();
      is_looking_ = false;
      return false;
    case core::StatusSort::outcome_unknown:
    case core::StatusSort::unsent:
    case core::StatusSort::retry_later: look_later(); return false;
    case core::StatusSort::done:
    case core::StatusSort::tree_conflict:
    case core::StatusSort::refused: return true;
  }
  return true;
}

void LateCreates::look_later() {
  for (Attempt& attempt : attempts_) attempt.in_look = true;
  client::Scheduler& scheduler = path_.core().scheduler();
  scheduler.at(scheduler.now() + path_.core().keeper().timeout() / 2,
               of_this_session([this]() { look(); }));
  is_looking_ = true;
}

void LateCreates::look() {
  path_.core().coordinator().submit(
      {.operation = request::ListChildren{path_.path().str()}, .session = session_},
      of_this_session([this](const client::Reply& reply) { listed(reply); }));
}

void LateCreates::listed(const client::Reply& reply) {
  if (!goes_on(reply)) return;
  candidates_.clear();
  std::vector<std::string> own = path_.own_node_names();
  std::ranges::sort(own);
  for (core::ZnodeName& name : core::contenders(reply.children)) {
    if (!std::ranges::binary_search(own, name.text)) candidates_.push_back(std::move(name.text));
  }
  inspect_next();
}

void LateCreates::inspect_next() {
  if (candidates_.empty()) return looked();
  path_.core().coordinator().submit(
      {.operation = request::Get{path_.path().child(candidates_.back())}, .session = session_},
      of_this_session([this](const client::Reply& reply) { inspected(reply); }));
}

void LateCreates::inspected(const client::Reply& reply) {
  if (!goes_on(reply)) return;
  const std::string node = std::move(candidates_.back());
  candidates_.pop_back();
  const bool own = reply.status == core::Status::ok && reply.ephemeral_owner == session_;
  const auto data = own ? core::ZnodeData::parse(reply.data) : std::nullopt;
  if (data && contains(data->attempt)) {
    path_.warn("the servers created znode " + node +
               " late, after its create had been abandoned; it is being deleted, no action is "
               "needed");
    // With care, because the name may be another znode's by then.
    path_.core().cleaner().remove(
        session_, {.path = path_.path().child(node), .token = reply.token}, Cleaner::Step::looking);
  }
  inspect_next();
}

void LateCreates::looked() {
  for (Attempt& attempt : attempts_) attempt.looks += attempt.in_look ? 1 : 0;
  std::erase_if(attempts_, [](const Attempt& each) { return each.looks == kLooksPerAttempt; });
  is_looking_ = false;
  if (!attempts_.empty()) look_later();
}

bool LateCreates::contains(std::string_view attempt) const {
  return std::ranges::find(attempts_, attempt, &Attempt::id) != attempts_.end();
}

}  // namespace zklock::detail
