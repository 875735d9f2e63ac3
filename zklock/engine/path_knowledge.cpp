// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/path_knowledge.h"

#include <utility>

#include "zklock/engine/path_lock.h"

namespace zklock::detail {

EngineContext& PathKnowledge::context() const noexcept {
  return path_.context();
}

bool PathKnowledge::should_create_path() const noexcept {
  return !path_likely_exists_ && context().path_facts().predicts_new_path();
}

bool PathKnowledge::record_own_node(core::Sequence number, FencingToken token,
                                    core::SessionId session) {
  if (std::exchange(newest_session_, session) != session) {
    newest_ = newest_deleted_ = {};  // the ensemble may have been emptied: its czxids begin again
    path_.sequence_hint().forget();
  }
  if (token <= newest_) return false;          // a znode that was found by a search
  if (!core::is_usable(number)) return false;  // past the counter's end, numbers can be lower
  const bool again = newest_ != FencingToken{} && number <= newest_number_;
  newest_number_ = number;
  // Znodes with a czxid between the two have lost their replies and may be in the new path.
  const FencingToken before = std::exchange(newest_, token);
  if (!again) return false;
  newest_deleted_ = before;
  recreation_noticed_at_ = context().scheduler().now();
  path_.on_path_recreated();
  return true;
}

void PathKnowledge::record_sequence(core::Sequence number) {
  path_.assert_held();
  const bool has_ended = !core::is_usable(number);
  if (has_ended == counter_has_ended_) return;
  context().path_facts().record_counter_end(path_.path(), has_ended);
  counter_has_ended_ = has_ended;
}

void PathKnowledge::record_stat(const client::Reply& stat) {
  path_.assert_held();
  if (stat.status == core::Status::ok) record_sequence(stat.next_sequence);
}

void PathKnowledge::record_create(const client::Reply& created, bool makes_path) noexcept {
  if (created.status == core::Status::ok) {
    path_likely_exists_ = true;
    if (!makes_path) return;
    created.path_existed ? context().path_facts().met_existing_path()
                         : context().path_facts().met_missing_path();
  } else if (makes_path) {
    path_likely_exists_ = false;  // perhaps it was not sent
  } else if (created.status == core::Status::no_node &&
             !std::exchange(path_likely_exists_, false)) {
    context().path_facts().met_missing_path();
  }
}

}  // namespace zklock::detail
