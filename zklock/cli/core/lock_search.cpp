// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_search.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

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
  const auto has_word = [word](const Participant& each) { return matches(each, word); };
  return has_part(lock.path, word) || std::ranges::any_of(lock.state.holders, has_word) ||
         std::ranges::any_of(lock.waiters, has_word);
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

RowOrder order_of(std::string_view name) {
  if (name == "path") return RowOrder::path;
  if (name == "held") return RowOrder::held;
  if (name == "waiting") return RowOrder::waiting;
  refuse("sort must be path, held or waiting");
}

}  // namespace

LockQuery parse_lock_query(std::string_view query) {
  LockQuery result;
  std::set<std::string_view> names;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    if (field.empty()) continue;
    const std::string_view name = field.substr(0, field.find('='));
    const std::string value = decoded(field.substr(std::min(name.size() + 1, field.size())));
    if (name == "search") {
      result.search = value;
    } else if (name == "sort") {
      result.sort = order_of(value);
    } else {
      refuse("the query has a field that is neither search nor sort");
    }
    if (!names.insert(name).second) refuse("the query has a field twice");
  }
  if (result.search.size() > kMostSearchBytes) {
    refuse("the search is too long: shorten it to 200 bytes");
  }
  return result;
}

FoundLocks find_locks(const Snapshot& snapshot, const CycleMarks& marks, const LockQuery& query,
                      std::size_t most, WallTime now) {
  const std::vector<std::string> words = words_of(query.search);
  auto positions = all_positions(snapshot.locks.size());
  std::erase_if(positions, [&](std::size_t position) {
    return !std::ranges::all_of(
        words, [&](const std::string& word) { return matches(snapshot.locks[position], word); });
  });
  FoundLocks found{.matching = positions.size(), .locks = {}};
  if (query.sort == RowOrder::path) {
    positions = most_important(snapshot.locks, marks, std::move(positions), most, now);
  }
  for (const std::size_t position : positions) found.locks.push_back(&snapshot.locks[position]);
  sort_rows(found.locks, query.sort, now);
  found.locks.resize(std::min(found.locks.size(), most));
  return found;
}

}  // namespace zklock::cli
