// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/queue_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "zklock/core/queue_rule.h"
#include "zklock/engine/blocking_requests.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace {

using core::Status;

constexpr const char* kReadOperation = "read the queue of";
/// How often the children are listed if znodes in the list are deleted before they are read.
constexpr int kMostLists = 5;

/// Returns the reply to a list: ok or no_node.
client::Reply list_children(PathLock& path_lock, BlockingRequests& query) {
  client::Reply list =
      request_until_final(query, client::request::ListChildren{path_lock.path().str()});
  if (list.status != Status::ok && list.status != Status::no_node) query.fail(list);
  return list;
}

/// Returns the replies to a Get of each child. If one of them is a temporary failure, pauses and
/// returns std::nullopt. Then the children have to be listed again.
std::optional<std::vector<client::Reply>> get_children(PathLock& path_lock, BlockingRequests& query,
                                                       const std::vector<std::string>& children) {
  std::vector<client::Operation> reads;
  for (const std::string& child : children) {
    reads.emplace_back(client::request::Get{path_lock.path().child(child)});
  }
  auto replies = query.run(std::move(reads));
  const bool failed =
      std::ranges::any_of(replies, core::is_temporary_failure, &client::Reply::status);
  if (!failed) return replies;
  BlockingRequests::pause();
  return std::nullopt;
}

OwnZnodes own_znodes(PathLock& path_lock) {
  return OwnZnodes(path_lock.context().keeper().session(), path_lock.nodes());
}

/// The replies to the Gets of contenders, by the names of the znodes.
using Contenders = std::map<std::string, client::Reply>;

// These two return false if the list has to be repeated. `is_last`: a deleted znode is no reason
// for that.

/// Reads the listed contenders that `known` lacks, and adds those that exist. A deleted writer may
/// have downgraded: then the queue gets its name as a reader. If a contender at a gate was deleted,
/// it may have passed the gate, and the list is repeated.
bool read_contenders(PathLock& path_lock, BlockingRequests& query, Queue& queue, Contenders& known,
                     bool is_last) {
  std::vector<core::ZnodeName*> unread;
  for (auto& name : queue.contenders) {
    if (!known.contains(name.text)) unread.push_back(&name);
  }
  bool any_passed = false;
  for (const bool is_listed : {true, false}) {
    std::vector<std::string> children;
    for (const auto* name : unread) children.push_back(name->text);
    auto replies = get_children(path_lock, query, children);
    if (!replies) {
      known.clear();
      return false;
    }
    std::vector<core::ZnodeName*> readers;
    for (std::size_t i = 0; i < unread.size(); ++i) {
      core::ZnodeName& name = *unread[i];
      client::Reply& reply = (*replies)[i];
      if (is_listed ? queue.is_deleted(reply) : reply.status == Status::no_node) {
        any_passed |= core::parse_znode_name(name.text)->access == Access::weighted;
        auto reader = name.as_reader();
        if (!reader) continue;
        name = *std::move(reader);
        readers.push_back(&name);
      } else if (reply.status == Status::ok || reply.status == Status::no_auth) {
        known.emplace(name.text, std::move(reply));
      } else {
        query.fail(reply);
      }
    }
    unread = std::move(readers);
  }
  return is_last || !any_passed;
}

/// Reads what `view` needs.
bool read_view_of(PathLock& path_lock, BlockingRequests& query, ViewBuilder& view, bool is_last) {
  while (!view.reads().empty()) {
    std::vector<std::string> children;
    for (const auto& read : view.reads()) children.push_back(read.child);
    const auto replies = get_children(path_lock, query, children);
    if (!replies) return false;
    const OwnZnodes own = own_znodes(path_lock);
    for (const client::Reply& reply : *replies) {
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
  BlockingRequests query(path_lock->context(), path_lock->path(), kReadOperation, limit);
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
  BlockingRequests query(path_lock->context(), path_lock->path(), kReadOperation, limit);
  Contenders known;
  core::Zxid path_czxid;
  for (int lists = 1;; ++lists) {
    const client::Reply list = list_children(*path_lock, query);
    // In a recreated path, the names are of other contenders.
    if (std::exchange(path_czxid, list.token) != list.token) known.clear();
    auto queue = Queue::of(list);
    if (!read_contenders(*path_lock, query, queue, known, lists >= kMostLists)) continue;
    const OwnZnodes own = own_znodes(*path_lock);
    std::vector<Participant> participants;
    core::Holders holders(total_permits);
    for (const auto& name : queue.contenders) {
      const auto found = known.find(name.text);
      if (found == known.end()) continue;
      Participant& p = participants.emplace_back(describe(name, found->second, own));
      if (!queue.lock_delay && holders.add(*core::parse_znode_name(name.text))) set_holds(p, queue);
    }
    return participants;
  }
}

QueueView read_view(const std::shared_ptr<PathLock>& path_lock, ViewScope scope,
                    const TimeLimit& limit) {
  BlockingRequests query(path_lock->context(), path_lock->path(), kReadOperation, limit);
  for (int lists = 1;; ++lists) {
    ViewBuilder view(list_children(*path_lock, query), scope);
    if (read_view_of(*path_lock, query, view, lists >= kMostLists)) return view.view();
  }
}

}  // namespace zklock::detail
