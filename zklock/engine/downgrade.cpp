// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/downgrade.h"

#include <chrono>
#include <utility>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/core/log_line.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace {

using core::Status;
using core::StatusSort;
namespace request = client::request;

constexpr std::chrono::milliseconds kRetryDelay{250};
/// The index of the marker's delete in the transaction.
constexpr int kPlaceOfDelayMarker = 2;

}  // namespace

client::ReplyHandler Downgrade::on_reply(Step step) {
  return under_lock(node_.shared_from_this(), [this, step](const client::Reply& reply) {
    (this->*step)(reply);
    assert_invariants();
  });
}

void Downgrade::begin() noexcept {
  assert_invariants();
  if (state_ != State::writer) return;
  const core::ZnodeName writer{node_.own_name(), node_.machine().node().sequence()};
  const auto reader = writer.as_reader();
  if (!reader) return;
  name_ = reader->text;
  node_.watches_.disarm_own();  // this client deletes the znode: no loss
  work_ = node_.path_lock().context().work().begin();
  must_look_ = node_.is_unseen();
  again();
}

void Downgrade::when_settled(std::function<void()> then) {
  if (is_settled()) return node_.path_lock().after_unlock(std::move(then));
  waiting_.push_back(std::move(then));
}

void Downgrade::send() {
  state_ = State::sending;
  const core::LockPath& path = node_.path_lock().path();
  request::Transaction exchange;
  exchange.writes.emplace_back(request::write::Create{.path = path.child(name_),
                                                      .data = node_.data_as_reader(),
                                                      .ephemeral = true,
                                                      .lock_acl = true});
  exchange.writes.emplace_back(request::write::Remove{path.child(node_.own_name())});
  if (const std::string& marker = node_.unwanted_delay_marker(); !marker.empty()) {
    exchange.writes.emplace_back(request::write::Remove{path.child(marker)});
  }
  node_.path_lock().context().coordinator().submit(
      {.operation = std::move(exchange), .session = node_.session(), .fail_if_disconnected = true},
      on_reply(&Downgrade::sent));
}

void Downgrade::sent(const client::Reply& reply) {
  if (reply.status == Status::ok) return settle(State::reader);
  if (reply.failed_operation == kPlaceOfDelayMarker) {
    node_.take_unwanted_delay_marker();
    return again();
  }
  if (reply.status == Status::no_node) return lost();
  failed(reply);
}

void Downgrade::look() {
  state_ = State::looking;
  read(node_.own_name(), &Downgrade::looked_at_writer);
}

void Downgrade::read(const std::string& name, Step step) {
  client::get_by_quorum(node_.path_lock().context().coordinator(), node_.path_lock().child(name),
                        node_.session(), on_reply(step));
}

// If this finds no or another znode, the transaction was executed or the znode deleted.
void Downgrade::looked_at_writer(const client::Reply& writer) {
  if (writer.status != Status::ok && writer.status != Status::no_node) return failed(writer);
  if (writer.status == Status::ok && node_.is_own(writer)) {
    must_look_ = false;
    return again();
  }
  read(name_, &Downgrade::looked_at_reader);
}

// If neither is its own, must_look_ stays true: a later delete must look, too.
void Downgrade::looked_at_reader(const client::Reply& reader) {
  if (reader.status != Status::ok && reader.status != Status::no_node) return failed(reader);
  if (reader.status == Status::ok && is_own_reader_node(reader)) return settle(State::reader);
  lost();
}

// Without READ permission, the reply shows only the session, or only the stat of the path.
bool Downgrade::is_own_reader_node(const client::Reply& node) const {
  if (node.is_without_stat()) return node.parent && node_.is_path_of_own_znode(*node.parent);
  if (node.ephemeral_owner != node_.session()) return false;
  if (node.unreadable) return true;
  const auto data = core::ZnodeData::parse(node.data);
  return data && data->attempt == node_.machine().attempt().text();
}

void Downgrade::failed(const client::Reply& reply) {
  switch (core::sort_of(reply.status)) {
    case StatusSort::outcome_unknown:
    case StatusSort::unsent: must_look_ = true; return again();
    case StatusSort::retry_later: must_look_ = true; return pause();
    case StatusSort::session:
    case StatusSort::client_ended:
      return settle(State::ended_as_writer);  // the session ends, and so does the znode
    case StatusSort::tree_conflict: must_look_ = true; return end_as_writer(reply);
    case StatusSort::done:
    case StatusSort::refused: return end_as_writer(reply);
  }
}

void Downgrade::again() {
  if (hold_has_ended_) return settle(State::ended_as_writer);
  must_look_ ? look() : send();
}

void Downgrade::pause() {
  if (hold_has_ended_) return settle(State::ended_as_writer);
  state_ = State::pausing;
  client::Scheduler& scheduler = node_.path_lock().context().scheduler();
  timer_ = scheduler.at(scheduler.now() + kRetryDelay, under_lock(node_.shared_from_this(), [this] {
                          if (state_ == State::pausing) again();
                        }));
}

void Downgrade::end_hold() {
  hold_has_ended_ = true;
  if (state_ != State::pausing) return;
  node_.path_lock().context().scheduler().cancel(timer_);
  settle(State::ended_as_writer);
}

void Downgrade::end_as_writer(const client::Reply& reply) {
  const std::string cause(reply.detail.empty() ? to_string(reply.status) : reply.detail);
  settle(State::ended_as_writer);
  node_.path_lock().context().warn(
      core::log_line("downgrade", node_.path_lock().path().str(),
                     cause + "; readers wait until this owner releases its read lock", {}));
}

void Downgrade::lost() {
  settle(State::ended_as_writer);
  node_.on_own_node_deleted();
}

void Downgrade::settle(State state) {
  state_ = state;
  if (state == State::reader) {
    must_look_ = false;
    node_.take_unwanted_delay_marker();
  } else {
    node_.remove_unwanted_delay_marker(work_);
  }
  for (auto& then : std::exchange(waiting_, {})) node_.path_lock().after_unlock(std::move(then));
  node_.path_lock().context().work().end(work_);
}

}  // namespace zklock::detail
