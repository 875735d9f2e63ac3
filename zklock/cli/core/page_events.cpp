// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/page_events.h"

#include <algorithm>
#include <functional>

#include "zklock/cli/core/lock_selection.h"

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

/// Returns paths with a past that have no contender and no hold now: those of the last ends.
std::vector<std::string> free_paths(const Snapshot& snapshot, const LockHistory& history) {
  std::vector<std::pair<WallTime, std::string>> ends;
  for (const auto& [path, past] : history.pasts()) {
    const auto since = history.free_since(past);
    if (!since) continue;
    if (std::ranges::binary_search(snapshot.locks, path, {}, &SurveyedLock::path)) continue;
    ends.emplace_back(*since, path);
  }
  const auto most = static_cast<std::ptrdiff_t>(std::min(ends.size(), PageEvents::kMostFree));
  std::ranges::nth_element(ends, ends.begin() + most, std::ranges::greater());
  std::vector<std::string> paths;
  for (auto each = ends.begin(); each != ends.begin() + most; ++each) {
    paths.push_back(std::move(each->second));
  }
  return paths;
}

}  // namespace

PageEvents::PageEvents(std::string root, std::string version)
    : root_(std::move(root)), version_(std::move(version)) {}

PageEvents::TextsPtr PageEvents::texts_of(const Snapshot& snapshot, const LockHistory& history) {
  const LockRows all = lock_rows(snapshot.locks, {}, RowOrder::path, snapshot.as_of);
  const LockRows shown = most_important(all, snapshot.marks, kMostLocks, snapshot.as_of);
  const auto texts = std::make_shared<Texts>();
  texts->pass = json::pass(snapshot, shown.size(), history);
  const auto add = [&](const SurveyedLock& lock) {
    const CycleMark* const mark = mark_of(snapshot.marks, lock.path);
    texts->locks.push_back({lock.path, json::live_lock(json::lock_fields(lock, mark),
                                                       history.past_of(lock.path), history)});
  };
  for (const SurveyedLock* const lock : shown) add(*lock);
  for (std::string& path : free_paths(snapshot, history)) {
    SurveyedLock lock;
    lock.path = std::move(path);
    add(lock);
  }
  std::ranges::sort(texts->locks, {}, &LockText::path);
  return texts;
}

void PageEvents::on_beat(json::Beat beat) {
  beat_ = std::move(beat);
  ++beats_;
}

SharedText PageEvents::Stream::next() {
  if (!said_hello_) {
    said_hello_ = true;
    return shared("retry: 2000\n" + event("hello", json::hello(feed_.root_, feed_.version_)));
  }
  while (feed_.newest_ != sent_) {
    if (!change_) {
      change_ = feed_.change_between(sent_, feed_.newest_);
      change_to_ = feed_.newest_;
      sent_pieces_ = 0;
    }
    if (sent_pieces_ < change_->size()) return (*change_)[sent_pieces_++];
    change_.reset();
    // The page has the right time of the data by the beats, even if no lock has changed.
    sent_ = std::move(change_to_);
  }
  if (sent_beats_ == feed_.beats_) return {};
  sent_beats_ = feed_.beats_;
  return shared(event("beat", json::beat(feed_.beat_, sent_->pass)));
}

PageEvents::Change PageEvents::change_between(const TextsPtr& before, const TextsPtr& now) {
  if (before == change_from_ && now == change_to_) return change_;
  std::vector<SharedText> pieces;
  std::string locks;
  std::string removed;
  const auto end_piece = [&](std::size_t least) {
    if (locks.size() + removed.size() < least) return;
    pieces.push_back(shared(event("change", json::live_change(locks, removed))));
    locks.clear();
    removed.clear();
  };
  const auto remove = [&](const LockText& lock) {
    append(removed, json::quoted(lock.path));
    end_piece(kPieceSize);
  };
  auto old = before->locks.begin();
  const auto end = before->locks.end();
  for (const LockText& each : now->locks) {
    for (; old != end && old->path < each.path; ++old) remove(*old);
    const bool existed = old != end && old->path == each.path;
    if (!existed || old->json != each.json) append(locks, each.json);
    end_piece(kPieceSize);
    if (existed) ++old;
  }
  for (; old != end; ++old) remove(*old);
  end_piece(1);
  change_from_ = before;
  change_to_ = now;
  change_ = std::make_shared<const std::vector<SharedText>>(std::move(pieces));
  return change_;
}

}  // namespace zklock::cli
