// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/queue_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "zklock/core/queue_rule.h"
#include "zklock/engine/blocking_requests.h"

namespace zklock::detail {

namespace {

using core::Status;

constexpr const char* kReadOperation = "read the queue of";
/// How often read_view() lists the children if the holders in the list are deleted meanwhile.
constexpr int kMostLists = 5;

/// Returns the reply to a list: ok or no_node.
client::Reply list_children(PathLock& path_lock, BlockingRequests& query) {
  client::Reply list =
      request_until_final(query, client::request::ListChildren{path_lock.path().str()});
  if (list.status != Status::ok && list.status != Status::no_node) query.fail(list);
  return list;
}

bool any_passes(const std::vector<client::Reply>& replies) {
  return std::ranges::any_of(replies, core::is_temporary_failure, &client::Reply::status);
}

OwnZnodes own_znodes(PathLock& path_lock) {
  return OwnZnodes(path_lock.context().keeper().session(), path_lock.nodes());
}

// ---- participants -------------------------------------------------------------------------------

std::vector<client::Reply> get_all(PathLock& path_lock, BlockingRequests& query, const Queue& queue,
                                   const std::vector<core::ZnodeName>& contenders) {
  std::vector<client::Operation> reads;
  for (const auto& name : contenders) {
    reads.emplace_back(client::request::Get{path_lock.path().child(name.text)});
  }
  auto replies = query.run(std::move(reads));
  for (client::Reply& reply : replies) {
    if (queue.is_deleted(reply)) reply.status = Status::no_node;
  }
  return replies;
}

/// If a writer's znode was deleted meanwhile, the writer may have downgraded, and hold as a reader
/// under another name. Then replaces the name and the reply.
void follow_downgrades(PathLock& path_lock, BlockingRequests& query,
                       std::vector<core::ZnodeName>& queue, std::vector<client::Reply>& replies) {
  for (std::size_t i = 0; i < queue.size(); ++i) {
    auto reader = queue[i].as_reader();
    if (replies[i].status != Status::no_node || !reader) continue;
    queue[i] = *std::move(reader);
    replies[i] = query.run(client::request::Get{path_lock.path().child(queue[i].text)});
  }
}

bool is_at_gate(const core::ZnodeName& name) {
  return core::parse_znode_name(name.text)->access == Access::weighted;
}

/// If a contender at a gate was deleted meanwhile, it may have passed the gate. Then reads the
/// queue once more, and replaces it. Replies for znodes that are still in it are reused. A
/// contender may be missed if it came to the gate after the first list and passed it at once.
void follow_passing(PathLock& path_lock, BlockingRequests& query, Queue& queue,
                    std::vector<client::Reply>& replies) {
  std::map<std::string, client::Reply> known;
  bool passed = false;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const auto& name = queue.contenders[i];
    passed = passed || (replies[i].status == Status::no_node && is_at_gate(name));
    if (replies[i].status != Status::no_node) known.emplace(name.text, replies[i]);
  }
  if (!passed) return;
  queue = Queue::of(list_children(path_lock, query));
  std::vector<core::ZnodeName> missing;
  for (const auto& name : queue.contenders) {
    if (!known.contains(name.text)) missing.push_back(name);
  }
  auto fresh = get_all(path_lock, query, queue, missing);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    known.emplace(missing[i].text, std::move(fresh[i]));
  }
  replies.clear();
  for (const auto& name : queue.contenders) replies.push_back(std::move(known.at(name.text)));
}

// ---- a view -------------------------------------------------------------------------------------

/// Reads what `view` needs. Returns false if the children must be listed again. `is_last`: they are
/// not listed again because of a deleted znode.
bool read_all(PathLock& path_lock, BlockingRequests& query, ViewBuilder& view, bool is_last) {
  while (!view.reads().empty()) {
    std::vector<client::Operation> reads;
    for (const auto& read : view.reads()) {
      reads.emplace_back(client::request::Get{path_lock.path().child(read.child)});
    }
    const auto replies = query.run(std::move(reads));
    if (any_passes(replies)) {
      BlockingRequests::pause();
      return false;
    }
    const OwnZnodes own = own_znodes(path_lock);
    for (const client::Reply& reply : replies) {
      const bool is_outdated = view.is_outdated_by(reply);
      if (is_outdated && !is_last) return false;
      if (!is_outdated && view.lacks(reply)) query.fail(reply);
      view.take(reply, own);
    }
  }
  return true;
}

}  // namespace

std::vector<core::ZnodeName> read_queue(const std::shared_ptr<PathLock>& path_lock,
                                        const TimeLimit& limit) {
  BlockingRequests query(*path_lock, kReadOperation, limit);
  return core::contenders(list_children(*path_lock, query).children);
}

std::optional<std::size_t> read_position(const std::shared_ptr<PathLock>& path_lock,
                                         const Owner& owner, const TimeLimit& limit) {
  const auto queue = read_queue(path_lock, limit);
  // A downgrade may be changing the name; the sequence number stays.
  const auto standing = path_lock->standing_of(owner);
  const auto node = core::ZnodeName::parse(standing.node);
  if (!node) return std::nullopt;
  const auto found = std::ranges::find(queue, node->sequence, &core::ZnodeName::sequence);
  if (found == queue.end()) return std::nullopt;
  return static_cast<std::size_t>(found - queue.begin()) + standing.ahead;
}

std::vector<Participant> read_participants(const std::shared_ptr<PathLock>& path_lock,
                                           const TimeLimit& limit, std::int32_t total_permits) {
  BlockingRequests query(*path_lock, kReadOperation, limit);
  for (;;) {
    auto queue = Queue::of(list_children(*path_lock, query));
    auto replies = get_all(*path_lock, query, queue, queue.contenders);
    follow_passing(*path_lock, query, queue, replies);
    follow_downgrades(*path_lock, query, queue.contenders, replies);
    if (any_passes(replies)) {
      BlockingRequests::pause();
      continue;
    }
    const OwnZnodes own = own_znodes(*path_lock);
    std::vector<Participant> participants;
    core::Holders holders(total_permits);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].status == Status::no_node) continue;
      const auto& name = queue.contenders[i];
      const bool readable = replies[i].status == Status::ok;
      if (!readable && replies[i].status != Status::no_auth) query.fail(replies[i]);
      Participant p = describe(name, replies[i], own.has(name, replies[i]));
      if (!queue.lock_delay && holders.add(*core::parse_znode_name(name.text))) set_holds(p, queue);
      participants.push_back(std::move(p));
    }
    return participants;
  }
}

QueueView read_view(const std::shared_ptr<PathLock>& path_lock, ViewScope scope,
                    const TimeLimit& limit) {
  BlockingRequests query(*path_lock, kReadOperation, limit);
  for (int lists = 1;; ++lists) {
    ViewBuilder view(list_children(*path_lock, query), scope);
    if (read_all(*path_lock, query, view, lists >= kMostLists)) return view.view();
  }
}

}  // namespace zklock::detail
