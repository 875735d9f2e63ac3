// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/downgrade.h"

#include <chrono>
#include <utility>

#include "zklock/core/node_data.h"
#include "zklock/core/node_name.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace {

using core::Status;
using core::StatusSort;
namespace request = client::request;

constexpr std::chrono::milliseconds retry_delay{250};
/// The index of the marker's delete in the transaction.
constexpr int place_of_delay_marker = 2;

}  // namespace

client::ReplyHandler Downgrade::on_reply(Step step) {
  return [this, place = place_.shared_from_this(), step](const client::Reply& reply) {
    const LockEngine::Section section(place->engine());
    (this->*step)(reply);
  };
}

void Downgrade::begin() {
  if (state_ != State::writer) return;
  const core::NodeName writer{place_.own_name(), place_.sequence()};
  const auto reader = writer.reading_on();
  if (!reader) return;
  contender_ = place_.contender();
  name_ = reader->text;
  place_.own_watch().disarm();  // this client deletes the znode: no loss
  contender_->tenure().held_node().moves();
  work_ = place_.core().work().begin();
  try {
    send();
  } catch (...) {
    settle(State::kept);
    throw;
  }
}

void Downgrade::send() {
  state_ = State::sending;
  const core::LockPath& path = place_.engine().path();
  request::Transaction exchange;
  exchange.writes.emplace_back(request::write::Create{.path = path.child(name_),
                                                      .data = place_.data_as_reader(),
                                                      .ephemeral = true,
                                                      .contender = true});
  exchange.writes.emplace_back(request::write::Remove{path.child(place_.own_name())});
  if (const std::string& marker = place_.unwanted_delay_marker(); !marker.empty()) {
    exchange.writes.emplace_back(request::write::Remove{path.child(marker)});
  }
  place_.core().coordinator().submit(
      {.operation = std::move(exchange), .session = place_.session()}, on_reply(&Downgrade::sent));
}

void Downgrade::sent(const client::Reply& reply) {
  if (reply.status == Status::ok) return settle(State::reader);
  if (reply.status == Status::node_exists) return ask();
  if (reply.failed_operation == place_of_delay_marker) {
    place_.take_unwanted_delay_marker();
    return again();
  }
  if (reply.status != Status::no_node) return failed(reply);
  settle(State::kept);
  place_.own_node_gone();
}

// Reads the znode with the reader's name. If the attempt and the session in it are this
// contender's, the transaction was executed.
void Downgrade::ask() {
  state_ = State::asking;
  request::Get question{place_.engine().path().child(name_)};
  place_.core().coordinator().submit(
      {.operation = std::move(question), .session = place_.session()}, on_reply(&Downgrade::asked));
}

void Downgrade::asked(const client::Reply& reply) {
  if (reply.status == Status::no_node) return again();
  if (reply.status != Status::ok) return failed(reply);
  if (made(reply)) return settle(State::reader);
  client::Reply another;
  another.status = Status::node_exists;
  keep(another);
}

bool Downgrade::made(const client::Reply& node) const {
  const auto data = core::NodeData::parse(node.data);
  return data && data->attempt == place_.attempt() && node.ephemeral_owner == place_.session();
}

void Downgrade::failed(const client::Reply& reply) {
  switch (core::sort_of(reply.status)) {
    case StatusSort::doubtful: doubtful_ = true; return again();
    case StatusSort::later: return pause();
    case StatusSort::session:
    case StatusSort::over:
    case StatusSort::unsent: return settle(State::kept);  // the session ends, and so does the znode
    case StatusSort::done:
    case StatusSort::tree:
    case StatusSort::refused: return keep(reply);
  }
}

void Downgrade::again() {
  if (contender_->ownership().state() != core::Ownership::State::held) return settle(State::kept);
  send();
}

void Downgrade::pause() {
  if (contender_->ownership().state() != core::Ownership::State::held) return settle(State::kept);
  state_ = State::pausing;
  client::Scheduler& scheduler = place_.core().scheduler();
  timer_ = scheduler.at(scheduler.now() + retry_delay, [this, place = place_.shared_from_this()] {
    const LockEngine::Section section(place->engine());
    if (state_ == State::pausing) again();
  });
}

void Downgrade::end() {
  if (state_ != State::pausing) return;
  place_.core().scheduler().cancel(timer_);
  settle(State::kept);
}

void Downgrade::keep(const client::Reply& reply) {
  const std::string cause(reply.detail.empty() ? to_string(reply.status) : reply.detail);
  settle(State::kept);
  // After the Section, because the logger runs the user's code.
  place_.engine().later([core = place_.core().shared_from_this(),
                         text = "downgrade " + place_.engine().path().str() + ": " + cause +
                                "; others wait as if it still wrote"] { core->warn(text); });
}

void Downgrade::settle(State state) {
  state_ = state;
  if (state == State::reader) {
    place_.take_unwanted_delay_marker();
  } else {
    place_.remove_unwanted_delay_marker(work_);
  }
  const std::string path = place_.engine().path().child(place_.own_name());
  for (HeldNode::Then& then : contender_->tenure().held_node().settles(path)) {
    place_.engine().later(std::move(then));
  }
  contender_.reset();
  place_.core().work().end(work_);
}

}  // namespace zklock::recipes
