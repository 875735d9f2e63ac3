// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/queue_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_data.h"

namespace zklock::detail {

namespace {

using core::Status;
using What = ViewBuilder::Read::What;

/// Returns whether the holders depend on a permit count that is not in the names; see
/// core/child_nodes.h.
bool shares_count(const std::vector<core::ZnodeName>& queue) noexcept {
  return std::ranges::any_of(queue, [](const core::ZnodeName& name) {
    const auto wish = core::parse_znode_name(name.text);
    return wish && wish->access == Access::permits && wish->named_total == 0;
  });
}

}  // namespace

// ---- a list of children -------------------------------------------------------------------------

Queue Queue::of(const client::Reply& list) {
  Queue queue{.contenders = core::contenders(list.children),
              .lock_delay = std::nullopt,
              .as_of = list.pzxid,
              .held_since_ms = {}};
  for (const core::DelayMarker& orphan : core::orphans(list.children)) {
    queue.lock_delay = std::max(queue.lock_delay, std::optional(orphan.length));
  }
  for (const std::string& child : list.children) {
    const auto marker = core::HoldMarker::parse(child);
    if (!marker) continue;
    auto& since_ms = queue.held_since_ms[marker->owner_sequence];
    since_ms = std::max(since_ms, marker->since_ms);  // an older one belongs to an earlier path
  }
  return queue;
}

bool Queue::is_deleted(const client::Reply& reply) const noexcept {
  return reply.status == Status::no_node || (reply.status == Status::ok && reply.token > as_of);
}

// ---- a contender --------------------------------------------------------------------------------

OwnZnodes::OwnZnodes(core::SessionId session, const std::vector<std::string>& names)
    : session_(session) {
  for (const std::string& text : names) {
    if (const auto name = core::ZnodeName::parse(text)) numbers_.push_back(name->sequence);
  }
}

bool OwnZnodes::has(const core::ZnodeName& name, const client::Reply& reply) const {
  if (reply.status == Status::ok) {
    return session_ != core::SessionId{} && reply.ephemeral_owner == session_;
  }
  return std::ranges::find(numbers_, name.sequence) != numbers_.end();
}

std::chrono::system_clock::time_point time_of(std::int64_t ms) {
  using std::chrono::milliseconds;
  using Time = std::chrono::system_clock::time_point;
  constexpr auto kLatest = std::chrono::floor<milliseconds>(Time::max().time_since_epoch());
  return Time(milliseconds(std::clamp(ms, -kLatest.count(), kLatest.count())));
}

Participant describe(const core::ZnodeName& name, const client::Reply& reply,
                     const OwnZnodes& own) {
  const auto wish = *core::parse_znode_name(name.text);
  Participant p;
  p.access = wish.access;
  p.permits = wish.permits;
  p.weight = wish.weight;
  p.mine = own.has(name, reply);
  p.node = core::printable(name.text, 128);
  p.sequence = name.sequence.value;
  p.session_id = reply.ephemeral_owner.value;
  std::int64_t since_ms = reply.created_ms;
  const auto data = core::ZnodeData::parse(reply.data);
  // A znode at a gate is never granted.
  if (wish.access != Access::weighted) p.token = core::queue_zxid(data, reply.token);
  if (data) {
    p.owner = data->owner;
    p.host = data->host;
    p.application = data->application;
    p.thread = data->thread;
    p.pid = data->pid;
    p.label = data->label;
    p.note = data->note;
    p.thread_bound = data->bound;
    p.is_candidate = data->is_candidate && wish.access == Access::exclusive;
    if (data->since_ms != 0) since_ms = data->since_ms;
  }
  p.since = time_of(since_ms);
  return p;
}

// A marker with a time before the creation of the znode belongs to an earlier path, or was made by
// hand.
void set_holds(Participant& p, const Queue& queue) {
  p.holds = true;
  const auto marked = queue.held_since_ms.find({p.sequence});
  if (marked == queue.held_since_ms.end()) return;
  const auto since = time_of(marked->second);
  if (since >= p.since) p.held_since = since;
}

// ---- a view -------------------------------------------------------------------------------------

ViewBuilder::ViewBuilder(const client::Reply& list, ViewScope scope)
    : scope_(scope), queue_(Queue::of(list)) {
  if (scope_.is_leadership) {
    std::ranges::copy_if(list.children, std::back_inserter(values_), [](const std::string& child) {
      return core::kind_of(child) == core::ChildKind::proclamation;
    });
  } else {
    view_.lock.lock_delay = queue_.lock_delay;
  }
  if (shares_count(queue_.contenders)) {
    reads_ = {{What::permit_count, std::string(core::kCountNode)}};
  } else {
    choose_contenders();
  }
}

void ViewBuilder::choose_contenders() {
  core::Holders holders(permits_.value_or(0));
  std::vector<Read> chosen;
  std::vector<Read> waiters;
  std::size_t holding = 0;
  std::size_t waiting = 0;
  for (const core::ZnodeName& name : queue_.contenders) {
    const auto wish = *core::parse_znode_name(name.text);
    if (wish.named_total > 0 && !permits_) permits_ = wish.named_total;
    if (!queue_.lock_delay && holders.add(wish)) {
      if (holding++ < scope_.most_holders) chosen.push_back({What::holder, name.text});
    } else {
      if (waiting++ < scope_.most_waiting) waiters.push_back({What::waiter, name.text});
    }
  }
  if (scope_.is_leadership && holding > 0) {
    const auto leader = core::ZnodeName::parse(chosen.front().child)->sequence;
    const std::string value = core::proclamation_node(leader);
    if (std::ranges::count(values_, value) > 0) {
      chosen.insert(chosen.begin(), {What::proclaimed_value, value});
    }
  }
  std::ranges::move(waiters, std::back_inserter(chosen));
  reads_ = std::move(chosen);
  next_ = 0;
  if (scope_.is_leadership) return;
  view_.lock.holding = holding;
  view_.lock.waiting = waiting;
}

bool ViewBuilder::is_outdated_by(const client::Reply& reply) const noexcept {
  switch (reads_[next_].what) {
    case What::permit_count: return false;
    case What::proclaimed_value: return reply.status == Status::no_node;
    case What::holder:
    case What::waiter: return queue_.is_deleted(reply);
  }
  return false;
}

bool ViewBuilder::lacks(const client::Reply& reply) const noexcept {
  if (reply.status == Status::ok) return false;
  switch (reads_[next_].what) {
    case What::permit_count:
      return reply.status != Status::no_node && reply.status != Status::no_auth;
    case What::proclaimed_value: return true;
    case What::holder:
    case What::waiter: return reply.status != Status::no_auth;
  }
  return true;
}

void ViewBuilder::take(const client::Reply& reply, const OwnZnodes& own) {
  const Read read = std::move(reads_[next_++]);
  const bool has_data = reply.status == Status::ok;
  if (read.what == What::permit_count) {
    if (has_data) permits_ = core::parse_permit_count(reply.data);
    return choose_contenders();
  }
  if (read.what == What::proclaimed_value) {
    if (has_data) value_ = core::Proclamation::parse(reply.data);
    return;
  }
  const auto name = *core::ZnodeName::parse(read.child);
  Participant contender = describe(name, reply, own);
  if (read.what == What::waiter) return view_.waiters.push_back(std::move(contender));
  set_holds(contender, queue_);
  if (value_ && value_->leader == contender.token) view_.proclaimed = std::move(value_->value);
  view_.lock.holders.push_back(std::move(contender));
}

}  // namespace zklock::detail
