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

/// A row below "state" and "input".
struct Row {
  std::string condition;
  Names next;
  std::string effects;
};

/// Consecutive rows with equal states and inputs.
struct Block {
  Names states;
  Names inputs;
  std::vector<Row> rows;
};

/// Takes the statuses that the row means out of those that are left. Throws if it means none.
Statuses take_statuses(const Row& row, Statuses& left) {
  Statuses taken;
  for (const std::string& word : split(row.condition, '/')) {
    if (word == "any other") {
      taken.merge(left);
    } else if (const auto node = left.extract(word)) {
      taken.insert(node.value());
    } else {
      throw std::runtime_error("no status is left for \"" + word +
                               "\" in the row:" + row.condition);
    }
  }
  return taken;
}

class Reader {
 public:
  /// Returns the rows of the first state table.
  std::vector<Block> read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      const Names cells = cells_of(line);
      if (cells.empty() && is_table_) break;
      if (is_table_) {
        add(cells);
      } else if (!cells.empty()) {
        begin(cells);
      }
    }
    finish_block();
    if (blocks_.empty()) throw std::runtime_error("no state table");
    return std::move(blocks_);
  }

 private:
  void begin(const Names& header) {
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
    };
    state_ = column("state");
    input_ = column("input");
    condition_ = column("status, condition");
    next_ = column("next");
    effects_ = column("effects");
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
    if (effects_ < cells.size()) block_.rows.back().effects += ' ' + cells[effects_];
  }

  void finish_block() {
    if (!block_.rows.empty()) {
      if (block_.inputs.empty()) {
        throw std::runtime_error("no input in a row of " + block_.states.front());
      }
      blocks_.push_back(block_);
    }
    block_ = {};
  }

  bool is_table_ = false;
  std::size_t state_ = 0;
  std::size_t input_ = 0;
  std::size_t condition_ = 0;
  std::size_t next_ = 0;
  std::size_t effects_ = 0;
  Column states_;
  Column inputs_;
  Column nexts_;
  Block block_;
  std::vector<Block> blocks_;
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

/// Returns the transitions that the text of a header states.
Transitions parse(const std::string& text, const StatusesOf& statuses_of) {
  Transitions result;
  for (const Block& block : Reader().read(text)) {
    for (const std::string& state : block.states) {
      for (const std::string& input : block.inputs) {
        const Statuses all = statuses_of(input);
        Statuses left = all;
        for (const Row& row : block.rows) {
          const Statuses own = all.empty() ? Statuses{""} : take_statuses(row, left);
          const std::string effects = trimmed(row.effects);
          for (const std::string& next : row.next) {
            for (const std::string& status : own) {
              const std::string& after = next == "the same" ? state : next;
              result.insert({state, input, with_effects(after, effects), status});
            }
          }
        }
      }
    }
  }
  return result;
}

}  // namespace

std::string with_effects(const std::string& state, const std::string& effects) {
  return effects.empty() ? state : state + " (" + effects + ")";
}

Statuses no_statuses(const std::string& /*input*/) {
  return {};
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
