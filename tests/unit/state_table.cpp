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

/// Consecutive rows with equal states and inputs.
struct Block {
  Names states;
  Names inputs;
  Names next;
};

class Reader {
 public:
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

  Transitions transitions() const {
    Transitions result;
    for (const Block& block : blocks_) {
      if (is_group(block.states.front())) continue;
      for (const std::string& state : block.states) {
        for (const std::string& input : block.inputs) {
          for (const std::string& next : expanded(block.next, state)) {
            result.insert({state, input, next});
          }
        }
      }
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
    for (const std::string& name : split(cells.at(next_), ',')) {
      if (!name.empty()) block_.next.push_back(name);
    }
  }

  void finish_block() {
    if (!block_.next.empty()) {
      if (!is_group(block_.states.front()) && block_.inputs.empty()) {
        throw std::runtime_error("no input in a row of " + block_.states.front());
      }
      blocks_.push_back(block_);
    }
    block_ = {};
  }

  std::set<std::string> expanded(const Names& names, const std::string& state) const {
    std::set<std::string> result;
    for (const std::string& name : names) {
      if (name == "the same") {
        result.insert(state);
      } else if (is_group(name)) {
        result.merge(expanded(group(name), state));
      } else {
        result.insert(name);
      }
    }
    return result;
  }

  const Names& group(const std::string& name) const {
    const auto found = std::ranges::find_if(
        blocks_, [&](const Block& block) { return block.states.front() == name; });
    if (found == blocks_.end()) throw std::runtime_error("no group " + name);
    return found->next;
  }

  bool is_table_ = false;
  std::size_t state_ = 0;
  std::size_t input_ = 0;
  std::size_t next_ = 0;
  Column states_;
  Column inputs_;
  Block block_;
  std::vector<Block> blocks_;
};

std::string lines_of(const Transitions& some, const Transitions& others, std::string_view heading) {
  std::string text;
  for (const Transition& each : some) {
    if (others.contains(each)) continue;
    text.append(heading).append(each.state + ", " + each.input + " -> " + each.next + "\n");
  }
  return text;
}

}  // namespace

Transitions parse(const std::string& text) {
  Reader reader;
  reader.read(text);
  return reader.transitions();
}

Transitions transitions_of(const std::string& header) {
  std::ifstream file(std::string(ZKLOCK_SOURCE_DIR) + "/" + header);
  if (!file) throw std::runtime_error("cannot open " + header);
  return parse({std::istreambuf_iterator<char>(file), {}});
}

std::string differences(const Transitions& made, const Transitions& table) {
  return lines_of(made, table, "not in the table: ") + lines_of(table, made, "only in the table: ");
}

}  // namespace zklock::core::state_table
