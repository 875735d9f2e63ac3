// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

bool passes(const SurveyedLock& lock, const RowFilter& filter, WallTime now) {
  if (filter.held_over && oldest_alert(lock, now) < filter.held_over) return false;
  return filter.host.empty() ||
         any_contender(lock, [&](const Participant& each) { return each.host == filter.host; });
}

/// Sorts rows that are in the order of their paths.
void sort_rows(LockRows& rows, RowOrder order, WallTime now) {
  switch (order) {
    case RowOrder::path: break;
    case RowOrder::held:
      std::ranges::stable_sort(rows, std::ranges::greater(), [now](const SurveyedLock* lock) {
        const auto age = is_led(*lock) ? std::nullopt : oldest_alert(*lock, now);
        return std::pair(age, !lock->state.holders.empty());
      });
      break;
    case RowOrder::waiting:
      std::ranges::stable_sort(rows, std::ranges::greater(), [now](const SurveyedLock* lock) {
        return std::pair(lock->state.waiting, oldest_wait(*lock, now).value_or(milliseconds(0)));
      });
      break;
  }
}

char small(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// `word` has no capital letter.
bool has_part(std::string_view text, std::string_view word) {
  const auto equal = [](char letter, char wanted) { return small(letter) == wanted; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), equal) != text.end();
}

bool matches(const Participant& each, std::string_view word) {
  return has_part(each.host, word) || has_part(each.application, word) ||
         has_part(each.label, word) || has_part(each.note, word) || has_part(each.owner, word) ||
         has_part(each.thread, word) || has_part(name_of(library_of(each)), word) ||
         has_part(session_text(each.session_id), word);
}

bool matches(const SurveyedLock& lock, std::string_view word) {
  return has_part(lock.path, word) ||
         any_contender(lock, [word](const Participant& each) { return matches(each, word); });
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (letter != ' ') {
      words.back() += small(letter);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Replaces each "+" by a space, and each "%XX" by its byte.
std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(text[i] == '+' ? ' ' : text[i]);
    if (text[i] == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr;
      if (digits.size() < 2 || end != digits.data() + 2) {
        refuse("a % must be followed by two hexadecimal digits; write %25 for a percent sign");
      }
      i += 2;
    }
    if (byte < 0x20 || byte == 0x7f) refuse("remove the control character from the query");
    result += static_cast<char>(byte);
  }
  return result;
}

/// Returns the decoded values of a query by the names of the fields.
std::map<std::string_view, std::string> query_fields(std::string_view query) {
  std::map<std::string_view, std::string> fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    if (field.empty()) continue;
    const std::string_view name = field.substr(0, field.find('='));
    const std::string value = decoded(field.substr(std::min(name.size() + 1, field.size())));
    if (!fields.emplace(name, value).second) refuse("the query has a field twice");
  }
  return fields;
}

}  // namespace

std::optional<RowOrder> row_order(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"path", "held", "waiting"};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RowOrder>(found - kNames.begin());
}

LockRows lock_rows(std::span<const SurveyedLock> locks, const RowFilter& filter, RowOrder order,
                   WallTime now) {
  LockRows rows;
  for (const SurveyedLock& lock : locks) {
    if (passes(lock, filter, now)) rows.push_back(&lock);
  }
  sort_rows(rows, order, now);
  return rows;
}

LockRows most_important(const LockRows& rows, const CycleMarks& marks, std::size_t most,
                        WallTime now) {
  if (rows.size() <= most) return rows;
  using Ranked = std::pair<std::size_t, std::size_t>;  // the rank, and the position of the row
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CycleMark* const mark = mark_of(marks, rows[i]->path);
    const std::size_t none = std::numeric_limits<std::size_t>::max();
    ranked.emplace_back(mark == nullptr ? none : mark->is_certain ? 0 : 1, i);
  }
  // The longest ages have the ranks first, first + 2, and so on.
  const auto rank_by = [&](auto age_of, std::size_t first) {
    std::vector<std::pair<milliseconds, std::size_t>> ages;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto age = is_led(*rows[i]) ? std::nullopt : age_of(*rows[i], now);
      if (age) ages.emplace_back(-*age, i);
    }
    std::ranges::sort(ages);
    for (const auto& [age, i] : ages) {
      ranked[i].first = std::min(ranked[i].first, first);
      first += 2;
    }
  };
  rank_by(oldest_alert, 2);
  rank_by(oldest_wait, 3);
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::partial_sort(ranked, end);
  ranked.erase(end, ranked.end());
  std::ranges::sort(ranked, {}, &Ranked::second);
  LockRows chosen;
  for (const Ranked& each : ranked) chosen.push_back(rows[each.second]);
  return chosen;
}

LockQuery parse_lock_query(std::string_view query) {
  LockQuery result;
  for (const auto& [name, value] : query_fields(query)) {
    if (name == "search") {
      result.search = value;
    } else if (name == "sort") {
      const auto order = row_order(value);
      if (!order) refuse("sort must be path, held or waiting");
      result.sort = *order;
    } else {
      refuse("the query has a field that is neither search nor sort");
    }
  }
  if (result.search.size() > kMostSearchBytes) {
    refuse("the search is too long: shorten it to 200 bytes");
  }
  return result;
}

std::string parse_history_query(std::string_view query) {
  const auto fields = query_fields(query);
  const auto path = fields.find("path");
  if (fields.size() != 1 || path == fields.end()) refuse("the query must have one field: path");
  return path->second;
}

FoundLocks find_locks(const Snapshot& snapshot, const LockQuery& query, std::size_t most,
                      WallTime now) {
  const std::vector<std::string> words = words_of(query.search);
  FoundLocks found;
  for (const SurveyedLock& lock : snapshot.locks) {
    const auto has_word = [&lock](const std::string& word) { return matches(lock, word); };
    if (std::ranges::all_of(words, has_word)) found.locks.push_back(&lock);
  }
  found.matching = found.locks.size();
  if (query.sort == RowOrder::path) {
    found.locks = most_important(found.locks, snapshot.marks, most, now);
  }
  sort_rows(found.locks, query.sort, now);
  found.locks.resize(std::min(found.locks.size(), most));
  return found;
}

}  // namespace zklock::cli
