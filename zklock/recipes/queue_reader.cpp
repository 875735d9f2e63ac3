// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/queue_reader.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "zklock/core/queue.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/round_trip.h"

namespace zklock::recipes {

namespace {

using core::Status;

constexpr const char* operation = "read the queue of";
constexpr std::chrono::milliseconds pause_between_turns{50};

/// The replies in the order of the requests.
std::vector<client::Reply> read(LockEngine& engine, Deadline limit,
                                std::vector<client::Operation> operations) {
  auto replies = round_trip(engine.core(), limit, std::move(operations));
  if (!replies) {
    const std::string trouble = engine.core().coordinator().trouble();
    throw Error(Errc::not_connected, operation, engine.path().str(),
                trouble.empty() ? "no answer in time" : "no answer in time (" + trouble + ")");
  }
  return std::move(*replies);
}

Deadline bounded(LockEngine& engine, Deadline deadline) {
  ClientCore& core = engine.core();
  const core::Instant now = core.scheduler().now();
  const auto most = Deadline::after(now, core.settings().connection_timeout);
  // One that has passed means a single attempt.
  return deadline.has_passed(now) ? most : std::min(deadline, most);
}

[[noreturn]] void fail(const LockEngine& engine, const client::Reply& reply) {
  const std::string_view cause = reply.detail.empty() ? to_string(reply.status) : reply.detail;
  throw Error(core::error_of(reply.status), operation, engine.path().str(), cause);
}

/// An interruption point. Not with a timer of the client's: there are none when it is closed.
void pause() {
  BlockingCall<bool>().wait_for(pause_between_turns);
}

bool try_again(Status status) {
  return status == Status::unknown || status == Status::session_ended ||
         status == Status::throttled;
}

std::vector<core::NodeName> read_queue_until(const std::shared_ptr<LockEngine>& engine,
                                             Deadline limit) {
  engine->core().check_usable(operation, engine->path().str());
  // Each turn waits for a connection, or comes to the deadline.
  for (;;) {
    const auto replies =
        read(*engine, limit, {client::request::ListChildren{engine->path().str()}});
    const client::Reply& reply = replies.front();
    if (reply.status == Status::no_node) return {};
    if (reply.status == Status::ok) return core::contenders(reply.children);
    if (!try_again(reply.status)) fail(*engine, reply);
    pause();
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
  return read_queue_until(engine, bounded(*engine, deadline));
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
  const Deadline limit = bounded(*engine, deadline);
  for (;;) {
    const auto queue = read_queue_until(engine, limit);
    std::vector<client::Operation> reads;
    for (const auto& name : queue) {
      reads.emplace_back(client::request::Get{engine->path().child(name.text)});
    }
    const auto replies = read(*engine, limit, std::move(reads));
    const bool lost =
        std::ranges::any_of(replies, [](const auto& r) { return try_again(r.status); });
    if (lost) {
      pause();
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
      if (!readable && replies[i].status != Status::no_auth) fail(*engine, replies[i]);
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
  const Deadline limit = bounded(*engine, deadline);
  for (;;) {
    const auto queue = read_queue_until(engine, limit);
    if (queue.empty()) return {};
    const std::string first = engine->path().child(queue.front().text);
    const auto replies = read(*engine, limit, {client::request::Get{first}});
    const client::Reply& reply = replies.front();
    if (reply.status == Status::ok || reply.status == Status::no_auth) {
      return state_of(*engine, queue, reply);
    }
    if (reply.status == Status::no_node) continue;  // it has just gone
    if (!try_again(reply.status)) fail(*engine, reply);
    pause();
  }
}

}  // namespace zklock::recipes
