// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/queue_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/queue.h"
#include "zklock/recipes/question.h"

namespace zklock::recipes {

namespace {

using core::Status;

constexpr const char* operation = "read the queue of";
std::vector<core::NodeName> read_queue_now(LockEngine& engine, Question& question) {
  // Each turn waits for a connection, or comes to the deadline.
  for (;;) {
    const client::Reply reply = question.ask(client::request::ListChildren{engine.path().str()});
    if (reply.status == Status::no_node) return {};
    if (reply.status == Status::ok) return core::contenders(reply.children);
    if (!Question::may_try_again(reply.status)) question.fail(reply);
    Question::pause();
  }
}

Participant describe(const core::NodeName& name, const client::Reply& reply) {
  Participant p;
  p.node = core::printable(name.text, 128);
  p.sequence = name.sequence.value;
  p.token = reply.token;
  p.session_id = reply.ephemeral_owner.value;
  p.since = std::chrono::system_clock::time_point(std::chrono::milliseconds(reply.created_ms));
  if (const auto data = core::NodeData::parse(reply.data)) {
    p.owner = data->owner;
    p.host = data->host;
    p.application = data->application;
    p.thread = data->thread;
    p.pid = data->pid;
  }
  return p;
}

}  // namespace

std::vector<core::NodeName> read_queue(const std::shared_ptr<LockEngine>& engine,
                                       Deadline deadline) {
  Question question(*engine, operation, deadline);
  return read_queue_now(*engine, question);
}

std::optional<std::size_t> read_position(const std::shared_ptr<LockEngine>& engine,
                                         const Owner& owner, Deadline deadline) {
  const auto queue = read_queue(engine, deadline);
  const std::string node = engine->node_of(owner);
  const auto found = std::ranges::find(queue, node, &core::NodeName::text);
  if (node.empty() || found == queue.end()) return std::nullopt;
  return static_cast<std::size_t>(found - queue.begin());
}

std::vector<Participant> read_participants(const std::shared_ptr<LockEngine>& engine,
                                           Deadline deadline, std::int32_t all_permits) {
  Question question(*engine, operation, deadline);
  for (;;) {
    const auto queue = read_queue_now(*engine, question);
    std::vector<client::Operation> reads;
    for (const auto& name : queue) {
      reads.emplace_back(client::request::Get{engine->path().child(name.text)});
    }
    const auto replies = question.ask(std::move(reads));
    const bool lost = std::ranges::any_of(
        replies, [](const auto& r) { return Question::may_try_again(r.status); });
    if (lost) {
      Question::pause();
      continue;
    }
    auto mine = engine->nodes();
    // Few locks have a gate: none is made for the others.
    const bool gated = std::ranges::any_of(queue, [](const core::NodeName& name) {
      return core::parse_contention(name.text)->access == Access::weighted;
    });
    if (gated) std::ranges::move(engine->gate()->nodes(), std::back_inserter(mine));
    std::vector<Participant> participants;
    core::Holders holders(all_permits);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (replies[i].status == Status::no_node) continue;
      const bool readable = replies[i].status == Status::ok;
      if (!readable && replies[i].status != Status::no_auth) question.fail(replies[i]);
      Participant p = describe(queue[i], replies[i]);
      const auto wish = *core::parse_contention(queue[i].text);
      p.access = wish.access;
      p.permits = wish.permits;
      p.weight = wish.weight;
      p.holds = holders.next_holds(wish);
      p.mine = std::ranges::find(mine, queue[i].text) != mine.end();
      participants.push_back(std::move(p));
    }
    return participants;
  }
}

LockState state_of(LockEngine& engine, const std::vector<core::NodeName>& queue,
                   const client::Reply& first) {
  LockState state;
  if (queue.empty()) return state;
  Participant p = describe(queue.front(), first);
  p.holds = true;
  const auto mine = engine.nodes();
  p.mine = std::ranges::find(mine, queue.front().text) != mine.end();
  state.holder = std::move(p);
  state.waiting = queue.size() - 1;
  return state;
}

LockState read_state(const std::shared_ptr<LockEngine>& engine, Deadline deadline) {
  Question question(*engine, operation, deadline);
  for (;;) {
    const auto queue = read_queue_now(*engine, question);
    if (queue.empty()) return {};
    const std::string first = engine->path().child(queue.front().text);
    const client::Reply reply = question.ask(client::request::Get{first});
    if (reply.status == Status::ok || reply.status == Status::no_auth) {
      return state_of(*engine, queue, reply);
    }
    if (reply.status == Status::no_node) continue;  // it has just gone
    if (!Question::may_try_again(reply.status)) question.fail(reply);
    Question::pause();
  }
}

}  // namespace zklock::recipes
