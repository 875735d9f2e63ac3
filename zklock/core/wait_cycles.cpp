// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/wait_cycles.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace zklock::core {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// The edges by waiter. Its owners are numbered from 0.
class Graph {
 public:
  explicit Graph(std::span<const WaitEdge> edges);

  std::size_t owners() const noexcept { return owners_.size(); }
  /// Returns the number of an owner, or owners() if it has no edge.
  std::size_t number_of(std::size_t owner) const noexcept {
    const auto found = std::ranges::lower_bound(owners_, owner);
    const bool is_known = found != owners_.end() && *found == owner;
    return is_known ? static_cast<std::size_t>(found - owners_.begin()) : owners_.size();
  }
  /// Returns the edges of a shortest cycle through the owner with this number, or nothing.
  std::vector<std::size_t> shortest_cycle(std::size_t start, bool certain_only);

 private:
  /// Finds the owners that reach each other. Other owners are in no common cycle.
  void find_components();
  std::vector<std::size_t> path_back(std::size_t start, std::size_t last_edge) const;
  std::size_t waiter(std::size_t edge) const noexcept { return number_of(edges_[edge].waiter); }
  std::size_t blocker(std::size_t edge) const noexcept { return blockers_[edge]; }

  const std::span<const WaitEdge> edges_;
  std::vector<std::size_t> owners_;     ///< ascending; the index is the number
  std::vector<std::size_t> blockers_;   ///< the number of each edge's blocker
  std::vector<std::size_t> by_waiter_;  ///< edges
  std::vector<std::size_t> first_;      ///< the first of each owner in by_waiter_
  std::vector<std::size_t> components_;
  // of the last search
  std::uint64_t search_ = 0;
  std::vector<std::uint64_t> reached_in_;  ///< for each owner, the last search
  std::vector<std::size_t> reached_by_;    ///< for each owner, an edge
};

Graph::Graph(std::span<const WaitEdge> edges) : edges_(edges), by_waiter_(edges.size()) {
  for (const WaitEdge& edge : edges) {
    owners_.push_back(edge.waiter);
    owners_.push_back(edge.blocker);
  }
  std::ranges::sort(owners_);
  owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
  for (const WaitEdge& edge : edges) blockers_.push_back(number_of(edge.blocker));
  std::iota(by_waiter_.begin(), by_waiter_.end(), std::size_t{0});
  std::ranges::stable_sort(by_waiter_, {}, [&](std::size_t edge) { return edges_[edge].waiter; });
  first_.assign(owners_.size() + 1, 0);
  for (const WaitEdge& edge : edges) ++first_[number_of(edge.waiter) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  reached_in_.assign(owners_.size(), 0);
  reached_by_.assign(owners_.size(), kNone);
  find_components();
}

// Tarjan's algorithm. It does not recurse, because chains of owners can be long.
void Graph::find_components() {
  struct Frame {
    std::size_t owner;
    std::size_t next_edge;
  };
  components_.assign(owners(), kNone);
  std::vector<std::size_t> order(owners(), kNone);
  std::vector<std::size_t> low(owners());
  std::vector<std::size_t> open;
  std::vector<Frame> frames;
  std::size_t seen = 0;
  const auto enter = [&](std::size_t owner) {
    order[owner] = low[owner] = seen++;
    open.push_back(owner);
    frames.push_back({owner, first_[owner]});
  };
  for (std::size_t root = 0; root < owners(); ++root) {
    if (order[root] == kNone) enter(root);
    while (!frames.empty()) {
      const std::size_t owner = frames.back().owner;
      if (frames.back().next_edge < first_[owner + 1]) {
        const std::size_t to = blocker(by_waiter_[frames.back().next_edge++]);
        if (order[to] == kNone) {
          enter(to);
        } else if (components_[to] == kNone) {
          low[owner] = std::min(low[owner], order[to]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) {
        std::size_t& above = low[frames.back().owner];
        above = std::min(above, low[owner]);
      }
      if (low[owner] != order[owner]) continue;
      while (components_[owner] == kNone) {
        components_[open.back()] = owner;
        open.pop_back();
      }
    }
  }
}

std::vector<std::size_t> Graph::shortest_cycle(std::size_t start, bool certain_only) {
  ++search_;
  std::vector<std::size_t> reached{start};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::size_t owner = reached[i];
    for (std::size_t n = first_[owner]; n < first_[owner + 1]; ++n) {
      const std::size_t edge = by_waiter_[n];
      const std::size_t to = blocker(edge);
      if (certain_only && !edges_[edge].is_certain) continue;
      if (to == start) return path_back(start, edge);
      if (components_[to] != components_[start] || reached_in_[to] == search_) continue;
      reached_in_[to] = search_;
      reached_by_[to] = edge;
      reached.push_back(to);
    }
  }
  return {};
}

std::vector<std::size_t> Graph::path_back(std::size_t start, std::size_t last_edge) const {
  std::vector<std::size_t> path{last_edge};
  for (std::size_t owner = waiter(last_edge); owner != start; owner = waiter(path.back())) {
    path.push_back(reached_by_[owner]);
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace

std::optional<WaitCycle> cycle_through(std::span<const WaitEdge> edges, std::size_t owner) {
  Graph graph(edges);
  const std::size_t start = graph.number_of(owner);
  if (start == graph.owners()) return std::nullopt;
  for (const bool certain : {true, false}) {
    auto cycle = graph.shortest_cycle(start, certain);
    if (!cycle.empty()) return WaitCycle{std::move(cycle), certain};
  }
  return std::nullopt;
}

std::vector<WaitCycle> wait_cycles(std::span<const WaitEdge> edges) {
  Graph graph(edges);
  std::vector<WaitCycle> cycles;
  std::vector<bool> is_in_cycle(graph.owners());
  for (const bool certain : {true, false}) {
    for (std::size_t start = 0; start < graph.owners(); ++start) {
      if (is_in_cycle[start]) continue;
      auto cycle = graph.shortest_cycle(start, certain);
      if (cycle.empty()) continue;
      for (const std::size_t edge : cycle) is_in_cycle[graph.number_of(edges[edge].waiter)] = true;
      cycles.push_back({std::move(cycle), certain});
    }
  }
  return cycles;
}

}  // namespace zklock::core
