// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_history.h"

#include <algorithm>
#include <utility>

namespace zklock::cli {

namespace {

constexpr WallTime kStillUnread = WallTime::max();

bool is_open(const PastSpan& span) noexcept {
  return !span.ended;
}

bool is_of(const PastSpan& span, const Participant& holder) {
  if (span.is_delay) return false;
  const FencingToken none;
  const bool have_tokens = span.holder.token != none && holder.token != none;
  return have_tokens ? span.holder.token == holder.token
                     : is_open(span) && span.holder.node == holder.node;
}

/// Returns when the span was known last, to be forgotten in this order.
WallTime last_known(const PastSpan& span) noexcept {
  return span.ended.value_or(span.seen);
}

bool is_exclusive(const PastSpan& span) noexcept {
  return !span.is_delay && span.holder.access == Access::exclusive;
}

/// An exclusive hold has ended when the next one is granted. So if that time is exact, it replaces a
/// later `ended`.
void end_before_next_grant(std::vector<PastSpan>& spans) {
  for (const PastSpan& next : spans) {
    if (!next.is_exact || !is_exclusive(next)) continue;
    for (PastSpan& span : spans) {
      const bool was_before = is_exclusive(span) && span.begin < next.begin;
      if (was_before && span.ended)
        span.ended = std::min(*span.ended, std::max(span.seen, next.begin));
    }
  }
}

/// Returns the time at which to forget all until then, so that at most `most` remain. REQUIRES:
/// there are more.
WallTime end_to_forget(std::vector<WallTime> ends, std::size_t most) {
  const auto last = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() - most - 1);
  std::ranges::nth_element(ends, last);
  return *last;
}

}  // namespace

void LockHistory::on_snapshot(const Snapshot& snapshot, std::chrono::milliseconds next_within) {
  before_ = std::exchange(pass_, {snapshot.as_of, snapshot.as_of + snapshot.duration});
  if (!is_known(before_.end) || pass_.begin <= before_.end) {
    before_ = {};
    since_ = pass_.end;
    gaps_.clear();
    unread_.clear();
    pasts_.clear();
  } else if (pass_.end - before_.begin > next_within_) {
    gaps_.push_back({.from = before_.begin, .to = pass_.end});
    if (gaps_.size() > bounds_.gaps) {
      since_ = std::max(since_, gaps_.front().to);
      gaps_.erase(gaps_.begin());
    }
  }
  next_within_ = next_within;
  if (bounds_.spans == 0) return;
  record_unread(snapshot);
  for (const SurveyedLock& lock : snapshot.locks) {
    if (lock.path.size() > bounds_.name_bytes) continue;
    if (lock.state.holders.empty() && !lock.is_delayed && lists_all_holders(lock)) continue;
    pasts_.try_emplace(lock.path);
  }
  auto lock = snapshot.locks.begin();
  for (auto& [path, past] : pasts_) {
    past.since = std::max(past.since, known_since(path));
    while (lock != snapshot.locks.end() && lock->path < path) ++lock;
    if (lock != snapshot.locks.end() && lock->path == path) {
      record(past, *lock);
    } else if (unread_until(path) != kStillUnread) {
      record(past, {});
    }
  }
  forget();
}

void LockHistory::record_unread(const Snapshot& snapshot) {
  for (auto& [path, until] : unread_) until = std::min(until, pass_.end);
  for (const std::string& path : snapshot.unreadable) {
    if (path.size() <= bounds_.name_bytes) unread_[path] = kStillUnread;
  }
  for (const std::string& path : snapshot.too_deep) {
    if (path.size() <= bounds_.name_bytes) unread_[path + '/'] = kStillUnread;
  }
  if (unread_.size() > bounds_.unread + snapshot.unread()) since_ = pass_.end;
  std::erase_if(unread_, [this](const auto& each) { return each.second <= since_; });
}

WallTime LockHistory::unread_until(std::string_view path) const {
  WallTime until = WallTime::min();
  const auto look = [&](std::string_view key) {
    const auto found = unread_.find(key);
    if (found != unread_.end()) until = std::max(until, found->second);
  };
  look(path);
  for (auto slash = path.rfind('/'); slash != std::string_view::npos; slash = path.rfind('/')) {
    look(path.substr(0, slash + 1));
    path = path.substr(0, slash);
    look(path);
  }
  return until;
}

WallTime LockHistory::known_since(std::string_view path) const {
  if (path.size() > bounds_.name_bytes) return pass_.end;
  return std::max(since_, std::min(unread_until(path), pass_.end));
}

bool LockHistory::lists_all_holders(const SurveyedLock& lock) const {
  const auto& holders = lock.state.holders;
  const auto wants_permits = [](const Participant& each) { return each.access == Access::permits; };
  return lock.state.holding <= holders.size() &&
         (lock.permits || std::ranges::none_of(lock.waiters, wants_permits)) &&
         std::ranges::all_of(holders, [this](const Participant& holder) {
           return holder.node.size() <= bounds_.name_bytes;
         });
}

void LockHistory::record(LockPast& past, const SurveyedLock& lock) {
  const bool was_cut = std::exchange(past.is_cut, !lists_all_holders(lock));
  if (was_cut || past.is_cut) past.since = pass_.end;
  const WallTime absent = past.since < before_.end ? before_.begin : WallTime::min();
  const auto span_that = [&](const auto& fits) -> PastSpan& {
    const auto found = std::ranges::find_if(past.spans, fits);
    if (found != past.spans.end()) return *found;
    return past.spans.emplace_back(
        PastSpan{.holder = {}, .absent = absent, .begin = pass_.end, .seen = pass_.end});
  };
  const auto see = [&](PastSpan& span) {
    span.seen = std::max(span.begin, pass_.begin);
    span.ended.reset();
    span.most_waiting = std::max(span.most_waiting, lock.state.waiting);
  };
  bool is_changed = false;
  for (const Participant& holder : lock.state.holders) {
    if (holder.node.size() > bounds_.name_bytes) continue;
    PastSpan& span = span_that([&holder](const PastSpan& each) { return is_of(each, holder); });
    if (span.holder != holder) span.holder = holder;
    const auto grant = holder.held_since.value_or(WallTime::max());
    if (!span.is_exact && span.absent <= grant && grant <= span.begin) {
      span.begin = grant;
      span.is_exact = is_changed = true;
    }
    see(span);
  }
  if (lock.is_delayed) {
    PastSpan& span = span_that([](const PastSpan& each) { return each.is_delay && is_open(each); });
    span.is_delay = true;
    see(span);
  }
  if (past.is_cut) return;
  for (PastSpan& span : past.spans) {
    if (!is_open(span) || span.seen >= pass_.begin) continue;
    span.ended = pass_.end;
    is_changed = true;
  }
  if (is_changed) end_before_next_grant(past.spans);
}

std::vector<WallTime> LockHistory::ends_of(const LockPast& past) const {
  std::vector<WallTime> ends;
  if (past.spans.empty() && !past.is_cut) ends.push_back(past.since);
  for (const PastSpan& span : past.spans) {
    if (span.seen < pass_.begin) ends.push_back(last_known(span));
  }
  return ends;
}

void LockHistory::forget_until(LockPast& past, WallTime time) const {
  std::erase_if(past.spans, [this, time](const PastSpan& span) {
    return span.seen < pass_.begin && last_known(span) <= time;
  });
}

void LockHistory::forget() {
  std::vector<WallTime> all;
  for (auto& [path, past] : pasts_) {
    auto ends = ends_of(past);
    if (ends.size() > bounds_.spans_of_lock) {
      const WallTime until = end_to_forget(std::move(ends), bounds_.spans_of_lock);
      past.since = std::max(past.since, until);
      forget_until(past, until);
      ends = ends_of(past);
    }
    all.insert(all.end(), ends.begin(), ends.end());
  }
  if (all.size() > bounds_.spans) {
    const WallTime until = end_to_forget(std::move(all), bounds_.spans - bounds_.spans / 10);
    since_ = std::max(since_, until);
    for (auto& [path, past] : pasts_) forget_until(past, until);
  }
  for (auto& [path, past] : pasts_) past.since = std::max(past.since, since_);
  std::erase_if(pasts_, [this](const auto& each) {
    return each.second.spans.empty() && each.second.since <= since_;
  });
}

LockPast LockHistory::past_of(std::string_view path) const {
  const auto past = pasts_.find(path);
  if (past != pasts_.end()) return past->second;
  return {.since = known_since(path)};
}

std::optional<WallTime> LockHistory::free_since(const LockPast& past) const noexcept {
  std::optional<WallTime> last;
  if (past.since >= pass_.end) return last;
  for (const PastSpan& span : past.spans) {
    if (is_open(span)) return std::nullopt;
    last = std::max(last, span.ended);
  }
  return last;
}

}  // namespace zklock::cli
