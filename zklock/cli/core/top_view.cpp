// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/top_view.h"

#include <algorithm>
#include <utility>

#include "zklock/cli/core/columns.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/lock_tables.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kOtherLines = 3;  ///< title, titles of the columns, last line
constexpr std::size_t kMarkWidth = 2;   ///< marks of selection and deadlock

/// Returns the step of a key that moves; 0 for any other.
int step_of(Key key, std::size_t page) {
  switch (key) {
    case kUp:
    case 'k': return -1;
    case kDown:
    case 'j': return 1;
    case kPageUp: return -static_cast<int>(page);
    case kPageDown: return static_cast<int>(page);
    default: return 0;
  }
}

/// Returns the index of the row with that path; the number of rows if there is none.
std::size_t index_of(const LockRows& rows, const std::string& path) {
  return static_cast<std::size_t>(std::ranges::find(rows, path, &SurveyedLock::path) -
                                  rows.begin());
}

std::size_t moved(std::size_t at, int step, std::size_t end) {
  const auto target = static_cast<long>(at) + step;
  const auto last = static_cast<long>(end) - 1;
  return static_cast<std::size_t>(std::max(0L, std::min(target, last)));
}

}  // namespace

TopView::TopView(std::string root, RowOrder order) : root_(std::move(root)), order_(order) {}

void TopView::on_snapshot(std::shared_ptr<const Snapshot> snapshot) {
  snapshot_ = std::move(snapshot);
  problem_ = snapshot_->has_root() ? "" : root_ + " does not exist";
}

void TopView::on_problem(std::string text) {
  problem_ = std::move(text);
}

LockRows TopView::rows(WallTime now) const {
  if (!snapshot_) return {};
  return find_locks(*snapshot_, {filter_, order_}, snapshot_->locks.size(), now).locks;
}

void TopView::move(int step, WallTime now) {
  if (state_ == State::lock) {
    first_line_ = moved(first_line_, step, first_line_ + page_);
    return;
  }
  const auto all = rows(now);
  if (all.empty()) return;
  const std::size_t at = index_of(all, selected_);
  selected_ = all[at == all.size() ? 0 : moved(at, step, all.size())]->path;
}

void TopView::on_filter_key(Key key) {
  switch (key) {
    case kBackspace:
      if (!filter_.empty()) filter_.pop_back();
      break;
    case kEscape: filter_.clear(); [[fallthrough]];
    case kEnter: state_ = State::list; break;
    default:
      if (key < kUp) filter_ += static_cast<char>(key);
  }
}

TopView::Effect TopView::on_key(Key key, WallTime now) {
  if (state_ == State::filter) {
    on_filter_key(key);
    return Effect::none;
  }
  if (const int step = step_of(key, page_); step != 0) {
    move(step, now);
    return Effect::none;
  }
  const bool is_list = state_ == State::list;
  switch (key) {
    case kEnter:
    case kEscape:
      if (is_list && key == kEscape) filter_.clear();
      if (is_list && selected_.empty()) move(0, now);
      state_ = is_list && key == kEnter && !selected_.empty() ? State::lock : State::list;
      first_line_ = 0;
      break;
    case 'q': return Effect::end;
    case ' ': return Effect::pass;
    case 'h': order_ = RowOrder::held; break;
    case 'w': order_ = RowOrder::waiting; break;
    case 'p': order_ = RowOrder::path; break;
    case '/': state_ = is_list ? State::filter : state_; break;
    default: break;
  }
  return Effect::none;
}

std::string TopView::title(std::size_t count, WallTime now) const {
  std::string text = "zklock " + root_ + "  ";
  if (!snapshot_) return text + "first pass runs";
  text += counted(snapshot_->locks.size(), "lock");
  if (count != snapshot_->locks.size()) text += ", " + std::to_string(count) + " shown";
  if (!snapshot_->cycles.empty()) {
    const SurveyTotals totals = totals_of(*snapshot_);
    text += ", " + counted(totals.certain_cycles, "deadlock") + ", " +
            std::to_string(totals.possible_cycles) + " possible";
  }
  if (const auto unread = snapshot_->unread(); unread > 0) {
    text += ", " + counted(unread, "path") + " not read";
  }
  return text + "; " + text_of(Duration(age(snapshot_->as_of, now))) + " old";
}

std::vector<std::string> TopView::list_lines(std::size_t width, WallTime now) {
  const auto all = rows(now);
  std::vector<std::string> result{title(all.size(), now)};
  if (all.empty()) return result;
  std::size_t at = index_of(all, selected_);
  if (at == all.size()) {
    at = 0;
    selected_ = all.front()->path;
  }
  first_row_ = std::min({first_row_, at, all.size() - 1});
  if (at >= first_row_ + page_) first_row_ = at + 1 - page_;
  const auto count = std::min(page_, all.size() - first_row_);
  const LockRows shown(all.begin() + static_cast<std::ptrdiff_t>(first_row_),
                       all.begin() + static_cast<std::ptrdiff_t>(first_row_ + count));
  const std::size_t table_width = width - std::min(width, kMarkWidth);
  const CycleMarks& marks = snapshot_->marks;
  std::size_t row = 0;  // of the table: 0 is that of the titles
  for (const std::string& line : lock_table(shown, now, marks).lines(table_width)) {
    const bool is_in_cycle = row > 0 && mark_of(marks, shown[row - 1]->path) != nullptr;
    result.push_back((row == at - first_row_ + 1 ? ">" : " ") +
                     std::string(is_in_cycle ? "!" : " ") + line);
    ++row;
  }
  return result;
}

std::vector<std::string> TopView::lock_lines(std::size_t width, WallTime now) {
  std::vector<std::string> result{"zklock " + selected_};
  const auto all = rows(now);
  const std::size_t at = index_of(all, selected_);
  if (at == all.size()) {
    result.emplace_back("free");
    return result;
  }
  auto lines = contender_table(*all[at], now).lines(width);
  const std::string rest = rest_text(*all[at]);
  if (!rest.empty()) lines.push_back(rest);
  result.push_back(lines.front());
  first_line_ = std::min(first_line_, lines.size() - 1);
  for (std::size_t i = 1 + first_line_; i < lines.size() && i <= first_line_ + page_; ++i) {
    result.push_back(lines[i]);
  }
  return result;
}

std::vector<std::string> TopView::lines(std::size_t width, std::size_t height, WallTime now) {
  page_ = std::max<std::size_t>(1, height - std::min(height, kOtherLines));
  auto result = state_ == State::lock ? lock_lines(width, now) : list_lines(width, now);
  std::string last = "q quit  h w p sort  / filter by words  enter contenders  space now";
  if (state_ == State::filter || !filter_.empty()) last = "filter: " + filter_;
  if (!problem_.empty()) last = problem_;
  const std::size_t body = height - std::min<std::size_t>(height, 1);
  if (result.size() > body) result.resize(body);
  while (result.size() < body) result.emplace_back();
  if (height > 0) result.push_back(std::move(last));
  for (std::string& line : result) line = cut_text(display_text(line), width, Cut::end);
  return result;
}

}  // namespace zklock::cli
