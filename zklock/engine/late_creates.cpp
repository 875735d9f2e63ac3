// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/late_creates.h"

#include <algorithm>
#include <utility>

#include "zklock/core/queue_rule.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace request = client::request;

namespace {

constexpr int kLooksPerAttempt = 2;

}  // namespace

template <class Next>
auto LateCreates::of_this_session(Next next) {
  return under_lock(path_.shared_from_this(), epoch_.guard(std::move(next)));
}

void LateCreates::add(core::SessionId session, std::string attempt) {
  path_.assert_held();
  if (std::exchange(session_, session) != session) {
    epoch_.end();
    attempts_.clear();
    is_looking_ = false;
  }
  if (attempts_.size() == kMostAttempts) attempts_.pop_front();
  attempts_.push_back({.id = std::move(attempt)});
  if (!is_looking_) look_later();
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
  client::Scheduler& scheduler = path_.context().scheduler();
  scheduler.at(scheduler.now() + path_.context().keeper().timeout() / 2,
               of_this_session([this] { look(); }));
  is_looking_ = true;
}

void LateCreates::submit(client::Operation operation, Step step) {
  path_.context().coordinator().submit({.operation = std::move(operation), .session = session_},
                                       of_this_session([this, step](const client::Reply& reply) {
                                         if (goes_on(reply)) (this->*step)(reply);
                                       }));
}

void LateCreates::look() {
  submit(request::ListChildren{path_.path().str()}, &LateCreates::listed);
}

void LateCreates::listed(const client::Reply& reply) {
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
  submit(request::Get{path_.child(candidates_.back())}, &LateCreates::inspected);
}

void LateCreates::inspected(const client::Reply& reply) {
  const std::string node = std::move(candidates_.back());
  candidates_.pop_back();
  const bool own = reply.status == core::Status::ok && reply.ephemeral_owner == session_;
  const auto data = own ? core::ZnodeData::parse(reply.data) : std::nullopt;
  if (data && contains(data->attempt)) {
    path_.warn("the servers created znode " + node +
               " late, after its create had been abandoned; it is being deleted, no action is "
               "needed");
    // With care, because the name may belong to another znode by then.
    path_.context().cleaner().remove(session_, {.path = path_.child(node), .token = reply.token},
                                     Cleaner::Step::looking);
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
