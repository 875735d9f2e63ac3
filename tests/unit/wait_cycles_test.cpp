// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/wait_cycles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using Edges = std::vector<WaitEdge>;

constexpr std::size_t kMostOwners = 7;
constexpr std::size_t kNever = 1'000;
/// For each owner, the length of a shortest cycle through it.
using Lengths = std::array<std::size_t, kMostOwners>;

// By the algorithm of Floyd and Warshall.
Lengths shortest_lengths(const Edges& edges, bool certain_only) {
  std::array<Lengths, kMostOwners> distance{};
  for (Lengths& row : distance) row.fill(kNever);
  for (const WaitEdge& edge : edges) {
    if (!certain_only || edge.is_certain) distance.at(edge.waiter).at(edge.blocker) = 1;
  }
  for (std::size_t k = 0; k < kMostOwners; ++k) {
    for (std::size_t i = 0; i < kMostOwners; ++i) {
      for (std::size_t j = 0; j < kMostOwners; ++j) {
        distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
      }
    }
  }
  Lengths lengths{};
  for (std::size_t i = 0; i < kMostOwners; ++i) lengths.at(i) = distance.at(i).at(i);
  return lengths;
}

// Returns the owners of the cycle, in order. Expects that it is a cycle without repetition.
std::vector<std::size_t> owners_of(const Edges& edges, const WaitCycle& cycle) {
  std::vector<std::size_t> owners;
  bool is_certain = true;
  EXPECT_FALSE(cycle.edges.empty());
  for (std::size_t i = 0; i < cycle.edges.size(); ++i) {
    const WaitEdge& edge = edges.at(cycle.edges[i]);
    const WaitEdge& next = edges.at(cycle.edges[(i + 1) % cycle.edges.size()]);
    EXPECT_EQ(edge.blocker, next.waiter);
    is_certain = is_certain && edge.is_certain;
    owners.push_back(edge.waiter);
  }
  EXPECT_EQ(cycle.is_certain, is_certain);
  EXPECT_EQ(std::set(owners.begin(), owners.end()).size(), owners.size());
  return owners;
}

// Compares both functions with the distances in the graph. Stops at the first failure.
void check(const Edges& edges) {
  const Lengths certain = shortest_lengths(edges, true);
  const Lengths any = shortest_lengths(edges, false);
  for (std::size_t owner = 0; owner < kMostOwners; ++owner) {
    const auto cycle = cycle_through(edges, owner);
    ASSERT_EQ(cycle.has_value(), any.at(owner) < kNever);
    if (!cycle) continue;
    ASSERT_EQ(cycle->is_certain, certain.at(owner) < kNever);
    ASSERT_EQ(cycle->edges.size(), cycle->is_certain ? certain.at(owner) : any.at(owner));
    ASSERT_EQ(owners_of(edges, *cycle).front(), owner);
  }
  std::array<bool, kMostOwners> in_certain{};
  std::array<bool, kMostOwners> in_any{};
  bool was_certain = true;
  for (const WaitCycle& cycle : wait_cycles(edges)) {
    ASSERT_TRUE(was_certain || !cycle.is_certain) << "certain cycles come first";
    was_certain = cycle.is_certain;
    for (const std::size_t owner : owners_of(edges, cycle)) {
      in_any.at(owner) = true;
      in_certain.at(owner) = in_certain.at(owner) || cycle.is_certain;
    }
  }
  for (std::size_t owner = 0; owner < kMostOwners; ++owner) {
    ASSERT_EQ(in_any.at(owner), any.at(owner) < kNever);
    ASSERT_EQ(in_certain.at(owner), certain.at(owner) < kNever);
  }
}

TEST(WaitCycles, RandomGraphs_EqualDistances) {
  std::mt19937 random(11);
  for (int graph = 0; graph < 10'000; ++graph) {
    Edges edges(random() % 24);
    for (WaitEdge& edge : edges) {
      edge = {random() % kMostOwners, random() % kMostOwners, random() % 4 > 0};
    }
    check(edges);
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "graph " << graph;
  }
}

// A recursive search would use up the stack, and a search from each owner of a chain would not end.
TEST(WaitCycles, LongChain_IsSearchedOnce) {
  constexpr std::size_t kOwners = 50'000;
  Edges edges;
  for (std::size_t i = 0; i + 1 < kOwners; ++i) edges.push_back({i, i + 1, true});
  EXPECT_TRUE(wait_cycles(edges).empty());
  edges.push_back({1, 0, true});
  edges.push_back({kOwners - 1, kOwners - 2, true});
  EXPECT_EQ(wait_cycles(edges).size(), 2U) << "one at each end of the chain";
  edges.push_back({kOwners - 1, 0, true});
  EXPECT_EQ(cycle_through(edges, kOwners / 2)->edges.size(), kOwners);
}

}  // namespace
}  // namespace zklock::core
