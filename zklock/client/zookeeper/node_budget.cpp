// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/node_budget.h"

#include <algorithm>

#include "zklock/client/port/request.h"
#include "zklock/client/port/znode_path.h"

namespace zklock::client {

namespace {

constexpr std::size_t kSequenceDigits = 10;

std::size_t size_of(std::string_view requested) noexcept {
  return requested.size() + kSequenceDigits;
}

const request::write::Create* as_ephemeral(const request::Write& write) noexcept {
  const auto* const create = std::get_if<request::write::Create>(&write);
  return create != nullptr && create->ephemeral ? create : nullptr;
}

bool is_removal(const request::Write& write) noexcept {
  return std::holds_alternative<request::write::Remove>(write);
}

}  // namespace

NodeBudget::Hash NodeBudget::hash(std::string_view path) noexcept {
  return std::hash<std::string_view>{}(path);
}

/// Stops counting one create of this path with an unknown outcome. Returns false if there is none.
bool NodeBudget::forget_unknown(std::string_view requested) {
  const auto create = unknown_.find(requested);
  if (create == unknown_.end()) return false;
  bytes_ -= create->second;
  unknown_.erase(create);
  return true;
}

bool NodeBudget::reserve(std::string_view requested, std::size_t freed, bool leaves_room) noexcept {
  const std::size_t more = size_of(requested);
  const std::size_t cap = leaves_room ? max_bytes_ / 2 : max_bytes_;
  if (bytes_ + more > cap + freed) return false;
  bytes_ += more;
  return true;
}

void NodeBudget::created(std::string_view path, std::string_view requested) {
  forget_exactly(path);  // an earlier znode of that name no longer exists
  nodes_[hash(path)] = size_of(requested);
}

void NodeBudget::failed(std::string_view requested) noexcept {
  bytes_ -= size_of(requested);
}

void NodeBudget::unknown(std::string_view requested) {
  unknown_.emplace(requested, size_of(requested));
}

bool NodeBudget::reserve(std::span<const request::Write> writes) {
  std::size_t freed = 0;
  for (const request::Write& write : writes) {
    const auto* const create = as_ephemeral(write);
    const bool by_name = create != nullptr && !create->sequential;
    if (is_removal(write) || by_name) freed += bytes_of(path_of(write));
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto* const create = as_ephemeral(writes[i]);
    if (create == nullptr || reserve(create->path, freed, create->leaves_room)) continue;
    failed(writes.first(i));
    return false;
  }
  return true;
}

void NodeBudget::failed(std::span<const request::Write> writes) noexcept {
  for (const request::Write& write : writes) {
    if (const auto* const create = as_ephemeral(write)) failed(create->path);
  }
}

void NodeBudget::on_reply(std::span<const request::Write> writes, const Reply& reply) {
  if (reply.status != Status::ok && reply.status != Status::unknown) return failed(writes);
  const bool is_ok = reply.status == Status::ok;
  for (const request::Write& write : writes) {
    const std::string& path = path_of(write);
    const auto* const create = as_ephemeral(write);
    if (create != nullptr && is_ok) {
      created(create->sequential ? join(parent_of(path), reply.name) : path, path);
    } else if (create != nullptr) {
      unknown(path);
    } else if (is_removal(write)) {
      is_ok ? deleted(path) : maybe_deleted(path);
    }
  }
}

void NodeBudget::deleted(const std::string& path) {
  if (forget_exactly(path) || name_of(path).size() < kSequenceDigits) return;
  forget_unknown(std::string_view(path).substr(0, path.size() - kSequenceDigits));
}

void NodeBudget::missing(const std::string& path) {
  forget_exactly(path);
}

/// Stops counting the znode at exactly this path. Returns false if none was counted.
bool NodeBudget::forget_exactly(std::string_view path) {
  const auto node = nodes_.find(hash(path));
  if (node == nodes_.end()) return forget_unknown(path);
  bytes_ -= node->second;
  nodes_.erase(node);
  return true;
}

void NodeBudget::maybe_deleted(const std::string& path) {
  const auto node = nodes_.find(hash(path));
  if (node == nodes_.end()) return;
  unknown_.emplace(path, node->second);
  nodes_.erase(node);
}

std::size_t NodeBudget::bytes_of(const std::string& path) const {
  if (const auto node = nodes_.find(hash(path)); node != nodes_.end()) return node->second;
  const auto create = unknown_.find(path);
  return create == unknown_.end() ? 0 : create->second;
}

void NodeBudget::listed(const std::string& parent, std::size_t children) {
  const std::string first = join(parent, {});  // all paths below the parent begin with it
  auto next = unknown_.lower_bound(first);
  while (next != unknown_.end() && next->first.starts_with(first)) {
    const auto create = next++;
    if (parent_of(create->first) != parent) continue;
    if (children > 0) {
      --children;
    } else {
      bytes_ -= create->second;
      unknown_.erase(create);
    }
  }
}

void NodeBudget::clear() noexcept {
  nodes_.clear();
  unknown_.clear();
  bytes_ = 0;
}

}  // namespace zklock::client
