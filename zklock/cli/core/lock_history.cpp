// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_history.h"

#include <algorithm>
#include <utility>

namespace zklock::cli {

namespace {

bool is_open(const PastSpan& span) noexcept {
  return !span.ended;
}

bool is_of(const PastSpan& span, const Participant& holder) {
  if (span.is_delay || !is_open(span)) return false;
  const bool has_token = holder.token != FencingToken();
  return has_token ? span.holder.token == holder.token : span.holder.node == holder.node;
}

/// Returns whether one of the sorted paths is `path` or an ancestor of it.
bool covers(const std::vector<std::string>& paths, std::string_view path) {
  while (!path.empty()) {
    if (std::ranges::binary_search(paths, path, std::ranges::less())) return true;
    path = path.substr(0, path.rfind('/'));
  }
  return std::ranges::binary_search(paths, "/", std::ranges::less());
}

/// Removes the spans that ended at this time or earlier.
void forget_until(LockPast& past, WallTime time) {
  std::erase_if(past.spans,
                [time](const PastSpan& span) { return span.ended && span.ended <= time; });
}

/// Returns the time at which to forget all spans that ended until then, so that at most `most`
/// remain. std::nullopt if there are not enough that have ended.
std::optional<WallTime> end_to_forget(std::vector<WallTime> ends, std::size_t all,
                                      std::size_t most) {
  if (ends.size() < all - most) return std::nullopt;
  const auto last = ends.begin() + static_cast<std::ptrdiff_t>(all - most - 1);
  std::ranges::nth_element(ends, last);
  return *last;
}

void add_ends(std::vector<WallTime>& ends, const LockPast& past) {
  for (const PastSpan& span : past.spans) {
    if (span.ended) ends.push_back(*span.ended);
  }
}

}  // namespace

void LockHistory::on_snapshot(const Snapshot& snapshot, std::chrono::milliseconds next_within) {
  const WallTime before = std::exchange(now_, snapshot.as_of);
  end_ = now_ + snapshot.duration;
  if (!is_known(before) || now_ <= before) {
    since_ = end_;
    gaps_.clear();
    pasts_.clear();
  } else if (end_ - before > next_within_) {
    gaps_.push_back({.from = before, .to = end_});
    if (gaps_.size() > bounds_.gaps) {
      since_ = std::max(since_, gaps_.front().to);
      gaps_.erase(gaps_.begin());
    }
  }
  next_within_ = next_within;
  const auto unread_before = std::exchange(unread_, snapshot.unreadable);
  unread_.insert(unread_.end(), snapshot.too_deep.begin(), snapshot.too_deep.end());
  std::ranges::sort(unread_);
  for (const SurveyedLock& lock : snapshot.locks) {
    if (lock.state.holders.empty() && !lock.is_delayed) continue;
    const WallTime since = covers(unread_before, lock.path) ? end_ : since_;
    pasts_.try_emplace(lock.path, LockPast{.since = since});
  }
  auto lock = snapshot.locks.begin();
  for (auto& [path, past] : pasts_) {
    while (lock != snapshot.locks.end() && lock->path < path) ++lock;
    if (lock != snapshot.locks.end() && lock->path == path) {
      record(past, *lock);
    } else if (covers(unread_, path)) {
      past.since = end_;
    } else {
      record(past, {});
    }
  }
  forget();
}

void LockHistory::record(LockPast& past, const SurveyedLock& lock) {
  const auto see = [&](PastSpan& span) {
    span.seen = now_;
    span.most_waiting = std::max(span.most_waiting, lock.state.waiting);
  };
  const auto add = [&](bool is_delay) -> PastSpan& {
    return past.spans.emplace_back(PastSpan{.holder = {}, .is_delay = is_delay, .begin = now_});
  };
  for (const Participant& holder : lock.state.holders) {
    auto span = std::ranges::find_if(
        past.spans, [&holder](const PastSpan& each) { return is_of(each, holder); });
    PastSpan& found = span == past.spans.end() ? add(false) : *span;
    if (found.holder != holder) found.holder = holder;
    found.is_exact = holder.held_since.has_value();
    if (found.is_exact) found.begin = std::min(*holder.held_since, end_);
    see(found);
  }
  if (lock.is_delayed) {
    auto span = std::ranges::find_if(
        past.spans, [](const PastSpan& each) { return each.is_delay && is_open(each); });
    see(span == past.spans.end() ? add(true) : *span);
  }
  if (lock.state.holding > lock.state.holders.size()) {
    past.since = end_;
  } else {
    for (PastSpan& span : past.spans) {
      if (is_open(span) && span.seen != now_) span.ended = end_;
    }
  }
}

void LockHistory::forget() {
  std::size_t all = 0;
  for (auto& [path, past] : pasts_) {
    if (past.spans.size() > bounds_.spans_of_lock) {
      std::vector<WallTime> ends;
      add_ends(ends, past);
      const auto until = end_to_forget(std::move(ends), past.spans.size(), bounds_.spans_of_lock);
      past.since = until.value_or(end_);
      forget_until(past, past.since);
      past.spans.resize(std::min(past.spans.size(), bounds_.spans_of_lock));
    }
    all += past.spans.size();
  }
  if (all > bounds_.spans) {
    std::vector<WallTime> ends;
    for (const auto& [path, past] : pasts_) add_ends(ends, past);
    since_ = end_to_forget(std::move(ends), all, bounds_.spans - bounds_.spans / 10).value_or(end_);
  }
  std::size_t rest = bounds_.spans;
  for (auto& [path, past] : pasts_) {
    past.since = std::max(past.since, since_);
    if (all > bounds_.spans) forget_until(past, since_);
    past.spans.resize(std::min(past.spans.size(), rest));
    rest -= past.spans.size();
  }
  std::erase_if(pasts_, [this](const auto& each) {
    return each.second.spans.empty() && each.second.since <= since_;
  });
}

LockPast LockHistory::past_of(std::string_view path) const {
  const auto past = pasts_.find(path);
  if (past != pasts_.end()) return past->second;
  return {.since = covers(unread_, path) ? end_ : since_};
}

}  // namespace zklock::cli
