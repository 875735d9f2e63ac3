// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/live_feed.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace zklock::cli {

namespace {

constexpr std::size_t kPieceSize = 65'536;

std::string event(std::string_view name, std::string_view data) {
  std::string text;
  text.reserve(name.size() + data.size() + 16);
  text.append("event: ").append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

void append(std::string& list, std::string_view item) {
  if (!list.empty()) list += ',';
  list += item;
}

}  // namespace

LiveFeed::LiveFeed(std::string root, std::string version)
    : root_(std::move(root)), version_(std::move(version)) {}

void LiveFeed::on_snapshot(const Snapshot& snapshot) {
  const CycleMarks marks = cycle_marks(snapshot.cycles);
  const std::size_t count = std::min(snapshot.locks.size(), kMostLocks);
  const auto texts = std::make_shared<Texts>();
  texts->as_of = snapshot.as_of;
  texts->locks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const SurveyedLock& lock = snapshot.locks[i];
    const auto mark = marks.find(lock.path);
    const CycleMark* const cycle = mark == marks.end() ? nullptr : &mark->second;
    texts->locks.push_back({lock.path, json::lock_fields(lock, cycle)});
  }
  all_locks_ = snapshot.locks.size();
  unreadable_ = snapshot.unreadable.size();
  duration_ = snapshot.duration;
  // The page has the right time of the data by the beats, also if no lock has changed.
  newest_ = texts;
}

void LiveFeed::on_beat(json::Beat beat) {
  beat_ = std::move(beat);
  ++beats_;
}

std::string LiveFeed::Stream::next() {
  if (!said_hello_) {
    said_hello_ = true;
    return "retry: 2000\n" + event("hello", json::hello(feed_.root_, feed_.version_));
  }
  if (feed_.newest_ && !is_sent_) return next_piece();
  if (feed_.newest_ != sent_) {
    const std::string& change = feed_.change_between(sent_, feed_.newest_);
    sent_ = feed_.newest_;
    if (!change.empty()) return change;
  }
  if (sent_beats_ == feed_.beats_) return {};
  sent_beats_ = feed_.beats_;
  json::Beat beat = feed_.beat_;
  beat.as_of = sent_ ? sent_->as_of : WallTime();
  beat.duration = feed_.duration_;
  beat.locks = feed_.all_locks_;
  beat.shown = sent_ ? sent_->locks.size() : 0;
  beat.unreadable = feed_.unreadable_;
  return event("beat", json::beat(beat));
}

std::string LiveFeed::Stream::next_piece() {
  if (!sent_) sent_ = feed_.newest_;
  const bool is_first = sent_locks_ == 0;
  std::string locks;
  while (sent_locks_ < sent_->locks.size() && locks.size() < kPieceSize) {
    append(locks, sent_->locks[sent_locks_++].json);
  }
  is_sent_ = sent_locks_ == sent_->locks.size();
  return event("locks", json::live_locks(sent_->as_of, is_first, is_sent_, locks));
}

const std::string& LiveFeed::change_between(const TextsPtr& before, const TextsPtr& now) {
  if (before == change_from_ && now == change_to_) return change_;
  change_from_ = before;
  change_to_ = now;
  change_.clear();
  const SurveyDelta delta = survey_delta(before->locks, now->locks);
  if (delta.is_empty()) return change_;
  std::string locks;
  std::string removed;
  for (const LockText* each : delta.changed) append(locks, each->json);
  for (const std::string_view path : delta.removed) append(removed, json::quoted(path));
  change_ = event("change", json::live_change(now->as_of, locks, removed));
  return change_;
}

}  // namespace zklock::cli
