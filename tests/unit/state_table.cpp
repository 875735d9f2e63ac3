// SPDX-License-Identifier: Apache-2.0
#include "state_table.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::core::state_table {

namespace {

using Names = std::vector<std::string>;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

Names split(std::string_view text, char separator) {
  Names parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Returns the cells of a row of a table; none if the line is not one.
Names cells_of(const std::string& line) {
  if (!line.starts_with("/// |") || !line.ends_with('|')) return {};
  return split(std::string_view(line).substr(5, line.size() - 6), '|');
}

/// The list that the cells of one column give, from top to bottom.
class Column {
 public:
  /// Returns whether the cell begins a new list.
  bool add(const std::string& cell) {
    if (cell.empty()) return false;
    const bool begins = !continues_;
    if (begins) names_.clear();
    bool joins = !begins && names_.back().ends_with('_');
    for (const std::string& name : split(cell, ',')) {
      if (std::exchange(joins, false)) {
        names_.back() += name;
      } else if (!name.empty()) {
        names_.push_back(name);
      }
    }
    continues_ = cell.ends_with(',') || cell.ends_with('_');
    return begins;
  }
  void clear() { names_.clear(); }
  const Names& names() const { return names_; }

 private:
  Names names_;
  bool continues_ = false;
};

/// The parts of "create: no_node, withdrawn". A word of the table has no fact.
struct StatusParts {
  std::string request;
  std::string name;
  std::string fact;

  explicit StatusParts(const std::string& text) {
    const auto colon = text.find(": ");
    const auto comma = text.find(',');
    if (comma != std::string::npos) fact = trimmed(text.substr(comma + 1));
    name = text.substr(0, comma);
    if (colon == std::string::npos) return;
    request = name.substr(0, colon);
    name.erase(0, colon + 2);
  }
  bool is_meant_by(const std::string& text) const {
    const StatusParts word(text);
    const bool has_name = word.name == name || word.name == "any" || word.name == "any other";
    return has_name && (word.request.empty() || word.request == request);
  }
};

/// The condition of a row.
struct Condition {
  Names words;               ///< for statuses
  std::string fact;          ///< of statuses
  bool is_complete = false;  ///< nothing else follows

  Condition(const std::string& cell, const Statuses& known) {
    std::string text;
    for (const std::string& part : split(cell, '(')) text += part.substr(part.find(')') + 1);
    Names parts = split(text, ',');
    const auto any_known = [&](auto is_it) {
      return std::ranges::any_of(known, [&](const auto& each) { return is_it(StatusParts(each)); });
    };
    const auto is_fact = [&](const StatusParts& status) { return status.fact == parts.back(); };
    if (!parts.back().empty() && any_known(is_fact)) {
      fact = parts.back();
      parts.pop_back();
    }
    is_complete = parts.empty();
    if (is_complete) return;
    Names first = split(parts.front(), '/');
    const bool are_words = std::ranges::all_of(first, [&](const std::string& word) {
      return !word.empty() &&
             any_known([&](const StatusParts& status) { return status.is_meant_by(word); });
    });
    if (!are_words) return;
    words = std::move(first);
    is_complete = parts.size() == 1;
  }
  /// Returns those of the statuses that have the fact, and that one of `some` words means.
  Statuses applied_to(const Statuses& statuses, const Names& some) const {
    Statuses result;
    for (const std::string& text : statuses) {
      const StatusParts status(text);
      const bool has_word = some.empty() || std::ranges::any_of(some, [&](const auto& word) {
                              return status.is_meant_by(word);
                            });
      if (has_word && (fact.empty() || fact == status.fact)) result.insert(text);
    }
    return result;
  }
};

/// A row below "state" and "input".
struct Row {
  std::string condition;
  Names next;
};

/// Consecutive rows with equal states and inputs.
struct Block {
  Names states;
  Names inputs;
  std::vector<Row> rows;
};

class Reader {
 public:
  explicit Reader(const StatusesOf& statuses_of) : statuses_of_(statuses_of) {}

  void read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      const Names cells = cells_of(line);
      if (cells.empty() && is_table_) break;
      if (cells.empty()) continue;
      if (is_table_) {
        add(cells);
      } else {
        begin(cells);
      }
    }
    finish_block();
    if (blocks_.empty()) throw std::runtime_error("no state table");
  }

  Transitions transitions() {
    Transitions result;
    std::map<std::pair<std::string, std::string>, Statuses> left;
    for (const Block& block : blocks_) {
      if (is_group(block.states.front())) continue;
      for (const std::string& state : block.states) {
        for (const std::string& input : block.inputs) {
          const Statuses all = statuses_of_(state, input);
          check_statuses(block, input, all);
          Statuses& of_input = left.try_emplace({state, input}, all).first->second;
          add_rows(block.rows, {state, input, ""}, all, of_input, result);
        }
      }
    }
    for (const auto& [row, has_status] : has_statuses_) {
      if (has_status) continue;
      throw std::runtime_error("no status is left for \"" + row.second +
                               "\" in the row:" + row.first->condition);
    }
    return result;
  }

 private:
  static bool is_group(const std::string& name) { return name.starts_with('['); }

  void begin(const Names& header) {
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
    };
    state_ = column("state");
    input_ = column("input");
    condition_ = column("status, condition");
    next_ = column("next");
    is_table_ = std::max({state_, input_, next_}) < header.size();
  }

  void add(const Names& cells) {
    if (cells.at(state_).starts_with("--")) return;
    const bool new_state = states_.add(cells.at(state_));
    if (new_state) inputs_.clear();
    const bool new_input = inputs_.add(cells.at(input_));
    if (new_state || new_input) finish_block();
    block_.states = states_.names();
    block_.inputs = inputs_.names();
    if (cells.at(next_) == "(final)") return;
    if (nexts_.add(cells.at(next_))) block_.rows.emplace_back();
    if (block_.rows.empty()) return;
    block_.rows.back().next = nexts_.names();
    if (condition_ < cells.size()) block_.rows.back().condition += ' ' + cells[condition_];
  }

  void finish_block() {
    if (!block_.rows.empty()) {
      if (!is_group(block_.states.front()) && block_.inputs.empty()) {
        throw std::runtime_error("no input in a row of " + block_.states.front());
      }
      blocks_.push_back(block_);
    }
    block_ = {};
  }

  static void check_statuses(const Block& block, const std::string& input, const Statuses& all) {
    if (all == Statuses{""}) return;
    for (const Row& row : block.rows) {
      if (!Condition(row.condition, all).words.empty()) continue;
      throw std::runtime_error("no status of " + input + " in a row of " + block.states.front() +
                               ":" + row.condition);
    }
  }

  /// Adds the transitions of the rows by the statuses that are left.
  void add_rows(const std::vector<Row>& rows, Transition from, const Statuses& all, Statuses& left,
                Transitions& result) {
    for (const Row& row : rows) {
      const Condition condition(row.condition, all);
      const Statuses own = condition.applied_to(left, condition.words);
      for (const std::string& word : condition.words) {
        has_statuses_[{&row, word}] |= !condition.applied_to(left, {word}).empty();
      }
      if (condition.is_complete) {
        std::erase_if(left, [&](const std::string& status) { return own.contains(status); });
      }
      for (const std::string& name : row.next) {
        if (is_group(name)) {
          Statuses of_group = own;
          add_rows(group(name), from, all, of_group, result);
          continue;
        }
        from.next = name == "the same" ? from.state : name;
        for (const std::string& status : own) {
          from.status = status;
          result.insert(from);
        }
      }
    }
  }

  const std::vector<Row>& group(const std::string& name) const {
    const auto found = std::ranges::find_if(
        blocks_, [&](const Block& block) { return block.states.front() == name; });
    if (found == blocks_.end()) throw std::runtime_error("no group " + name);
    return found->rows;
  }

  const StatusesOf& statuses_of_;
  bool is_table_ = false;
  std::size_t state_ = 0;
  std::size_t input_ = 0;
  std::size_t condition_ = 0;
  std::size_t next_ = 0;
  Column states_;
  Column inputs_;
  Column nexts_;
  Block block_;
  std::vector<Block> blocks_;
  /// Whether a word of a row means any status that is left.
  std::map<std::pair<const Row*, std::string>, bool> has_statuses_;
};

/// Returns the next states of each state, input and status, as "{a, b}".
std::map<Transition, std::string> next_states(const Transitions& transitions) {
  std::map<Transition, std::string> result;
  for (const Transition& each : transitions) {
    std::string& names = result[{each.state, each.input, "", each.status}];
    names += (names.empty() ? "" : ", ") + each.next;
  }
  return result;
}

}  // namespace

Statuses no_statuses(const std::string& /*state*/, const std::string& /*input*/) {
  return {""};
}

Transitions parse(const std::string& text, const StatusesOf& statuses_of) {
  Reader reader(statuses_of);
  reader.read(text);
  return reader.transitions();
}

Transitions transitions_of(const std::string& header, const StatusesOf& statuses_of) {
  std::ifstream file(std::string(ZKLOCK_SOURCE_DIR) + "/" + header);
  if (!file) throw std::runtime_error("cannot open " + header);
  return parse({std::istreambuf_iterator<char>(file), {}}, statuses_of);
}

std::string differences(const Transitions& made, const Transitions& table) {
  auto by_machine = next_states(made);
  auto by_table = next_states(table);
  for (const auto& [situation, next] : by_machine) by_table.try_emplace(situation);
  // The statuses of equal differences share a line.
  std::map<std::pair<std::string, std::string>, std::string> lines;
  for (const auto& [situation, next] : by_table) {
    const std::string& by = by_machine[situation];
    if (by == next) continue;
    std::string& statuses = lines[{situation.state + ", " + situation.input,
                                   " -> {" + by + "}, but the table says {" + next + "}\n"}];
    if (situation.status.empty()) continue;
    statuses += (statuses.empty() ? ", " : " / ") + situation.status;
  }
  std::string text;
  for (const auto& [line, statuses] : lines) text += line.first + statuses + line.second;
  return text;
}

}  // namespace zklock::core::state_table
