// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/queue_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"
#include "zklock/engine/blocking_requests.h"

namespace zklock::detail {

namespace {

using core::Status;

constexpr const char* kReadOperation = "read the queue of";
/// How often read_view() lists the children if the holders in the list are deleted meanwhile.
constexpr int kMostLists = 5;

Queue read_queue_now(PathLock& path_lock, BlockingRequests& query) {
  const client::Reply reply =
      request_until_final(query, client::request::ListChildren{path_lock.path().str()});
  if (reply.status == Status::no_node) return {};
  if (reply.status != Status::ok) query.fail(reply);
  return Queue::of(reply);
}

/// Recognises this client's znodes in a queue. A readable znode is one of them if the client's
/// session created it. An unreadable znode is one of them if a contender of the client has its
/// sequence number. Names are not compared: a downgrade may be changing one.
class Own {
 public:
  Own(PathLock& path_lock, const std::vector<std::string>& nodes)
      : session_(path_lock.context().keeper().session()) {
    for (const std::string& text : nodes) {
      if (const auto name = core::ZnodeName::parse(text)) numbers_.push_back(name->sequence);
    }
  }

  bool has(const core::ZnodeName& name, const client::Reply& reply) const {
    if (reply.status == Status::ok) return is_created_by(session_, reply);
    return std::ranges::find(numbers_, name.sequence) != numbers_.end();
  }

 private:
  core::SessionId session_;
  std::vector<core::Sequence> numbers_;
};

}  // namespace

std::chrono::system_clock::time_point time_of(std::int64_t ms) {
  using std::chrono::milliseconds;
  using Time = std::chrono::system_clock::time_point;
  constexpr auto kLatest = std::chrono::floor<milliseconds>(Time::max().time_since_epoch());
  return Time(milliseconds(std::clamp(ms, -kLatest.count(), kLatest.count())));
}

Participant describe(const core::ZnodeName& name, const client::Reply& reply, bool mine) {
  const auto wish = *core::parse_znode_name(name.text);
  Participant p;
  p.access = wish.access;
  p.permits = wish.permits;
  p.weight = wish.weight;
  p.mine = mine;
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

// A marker with a time before the creation of the znode is of an earlier path, or was made by hand.
void set_holds(Participant& p, const Queue& queue) {
  p.holds = true;
  const auto marked = queue.held_since_ms.find({p.sequence});
  if (marked == queue.held_since_ms.end()) return;
  const auto since = time_of(marked->second);
  if (since >= p.since) p.held_since = since;
}

namespace {

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

bool any_passes(const std::vector<client::Reply>& replies) {
  return std::ranges::any_of(replies, core::is_temporary_failure, &client::Reply::status);
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
  queue = read_queue_now(path_lock, query);
  std::vector<client::Reply> all(queue.contenders.size());
  std::vector<client::Operation> reads;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& name = queue.contenders[i];
    if (const auto said = known.find(name.text); said != known.end()) {
      all[i] = std::move(said->second);
    } else {
      reads.emplace_back(client::request::Get{path_lock.path().child(name.text)});
      missing.push_back(i);
    }
  }
  auto fresh = query.run(std::move(reads));
  queue.mark_recreated(fresh);
  for (std::size_t i = 0; i < missing.size(); ++i) all[missing[i]] = std::move(fresh[i]);
  replies = std::move(all);
}

}  // namespace

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
    since_ms = std::max(since_ms, marker->since_ms);  // an older one is of a recreated path
  }
  return queue;
}

void Queue::mark_recreated(std::vector<client::Reply>& nodes) const {
  for (client::Reply& node : nodes) {
    if (node.status == Status::ok && node.token > as_of) node.status = Status::no_node;
  }
}

std::vector<core::ZnodeName> read_queue(const std::shared_ptr<PathLock>& path_lock,
                                        const TimeLimit& limit) {
  BlockingRequests query(*path_lock, kReadOperation, limit);
  return read_queue_now(*path_lock, query).contenders;
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
    auto queue = read_queue_now(*path_lock, query);
    std::vector<client::Operation> reads;
    for (const auto& name : queue.contenders) {
      reads.emplace_back(client::request::Get{path_lock->path().child(name.text)});
    }
    auto replies = query.run(std::move(reads));
    queue.mark_recreated(replies);
    follow_passing(*path_lock, query, queue, replies);
    follow_downgrades(*path_lock, query, queue.contenders, replies);
    if (any_passes(replies)) {
      BlockingRequests::pause();
      continue;
    }
    const Own own(*path_lock, path_lock->nodes());
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

bool shares_count(const std::vector<core::ZnodeName>& queue) noexcept {
  return std::ranges::any_of(queue, [](const core::ZnodeName& name) {
    const auto wish = core::parse_znode_name(name.text);
    return wish && wish->access == Access::permits && wish->named_total == 0;
  });
}

std::int32_t count_in(const client::Reply& reply) noexcept {
  if (reply.status != Status::ok) return 0;
  return core::parse_permit_count(reply.data).value_or(0);
}

std::vector<core::ZnodeName> holders_in(ViewKind kind, const Queue& queue, std::int32_t count) {
  if (queue.lock_delay) return {};
  auto holders = core::holders(queue.contenders, count);
  if (kind == ViewKind::leadership && holders.size() > 1) holders.resize(1);
  return holders;
}

QueueView view_of(PathLock& path_lock, const std::vector<std::string>& own_nodes, ViewKind kind,
                  const Queue& queue, const std::vector<core::ZnodeName>& holders,
                  const std::vector<client::Reply>& replies, std::string_view proclaimed) {
  QueueView view;
  const Own own(path_lock, own_nodes);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    view.holders.push_back(describe(holders[i], replies[i], own.has(holders[i], replies[i])));
    set_holds(view.holders.back(), queue);
  }
  if (kind != ViewKind::leadership) {
    view.holding = holders.size();
    view.waiting = queue.contenders.size() - holders.size();
    view.lock_delay = queue.lock_delay;
  }
  auto said = core::Proclamation::parse(proclaimed);
  if (said && !view.holders.empty() && said->leader == view.holders.front().token) {
    view.proclaimed = std::move(said->value);
  }
  return view;
}

LockState lock_state_of(QueueView view) {
  return {.holders = std::move(view.holders),
          .waiting = view.waiting,
          .holding = view.holding,
          .lock_delay = view.lock_delay};
}

QueueView read_view(const std::shared_ptr<PathLock>& path_lock, ViewKind kind,
                    const TimeLimit& limit) {
  BlockingRequests query(*path_lock, kReadOperation, limit);
  const auto get = [&](const std::string& name) {
    return client::request::Get{path_lock->path().child(name)};
  };
  for (int lists = 1;; ++lists) {
    const auto queue = read_queue_now(*path_lock, query);
    client::Reply count;
    if (shares_count(queue.contenders)) count = query.run(get(std::string(core::kCountNode)));
    if (core::is_temporary_failure(count.status)) {
      BlockingRequests::pause();
      continue;
    }
    const auto holders = holders_in(kind, queue, count_in(count));
    const bool with_value = kind == ViewKind::leadership && !holders.empty();
    // The value first: if a later reply still has the leader's znode, it led when the value was
    // read.
    std::vector<client::Operation> reads;
    if (with_value) {
      reads.emplace_back(get(core::proclamation_node(holders.front().sequence)));
    }
    for (const auto& name : holders) {
      reads.emplace_back(get(name.text));
      if (kind == ViewKind::first_holder) break;
    }
    auto replies = query.run(std::move(reads));
    const auto is = [](auto... statuses) {
      return [=](const client::Reply& r) { return ((r.status == statuses) || ...); };
    };
    if (any_passes(replies)) {
      BlockingRequests::pause();
      continue;
    }
    std::string value;
    if (with_value) {
      if (!is(Status::ok, Status::no_node)(replies.front())) query.fail(replies.front());
      value = std::move(replies.front().data);
      replies.erase(replies.begin());
    }
    queue.mark_recreated(replies);
    const bool is_deleted = std::ranges::any_of(replies, is(Status::no_node));  // since the list
    if (is_deleted && lists < kMostLists) continue;
    const auto bad =
        std::ranges::find_if_not(replies, is(Status::ok, Status::no_auth, Status::no_node));
    if (bad != replies.end()) query.fail(*bad);
    return view_of(*path_lock, path_lock->nodes(), kind, queue, holders, replies, value);
  }
}

}  // namespace zklock::detail
