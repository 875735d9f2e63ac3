// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_query.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/lock_facts.h"

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
