// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_tree.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace zklock::model {

using namespace client::request;

namespace {

template <OperationKind kind, class Alternative>
constexpr bool kNames =
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(kind), Operation>,
                   Alternative>;
static_assert(kNames<OperationKind::create_contender, CreateContender>);
static_assert(kNames<OperationKind::count_children, Exists>);
static_assert(kNames<OperationKind::create_parents, CreateParents>);
static_assert(kNames<OperationKind::list_children, ListChildren>);
static_assert(kNames<OperationKind::get, Get>);
static_assert(kNames<OperationKind::get_and_watch, GetAndWatch>);
static_assert(kNames<OperationKind::check, Check>);
static_assert(kNames<OperationKind::remove, Delete>);
static_assert(kNames<OperationKind::announce_and_delete, AnnounceAndDelete>);
static_assert(kNames<OperationKind::list_and_watch, ListAndWatch>);
static_assert(kNames<OperationKind::exists_and_watch, ExistsAndWatch>);
static_assert(kNames<OperationKind::transaction, Transaction>);
static_assert(kNames<OperationKind::sync, Sync>);

Reply stat(const Node* node) {
  if (node == nullptr) return status_only(Status::no_node);
  Reply reply = status_only(Status::ok);
  reply.token = {node->czxid};
  reply.ephemeral_owner = node->owner;
  reply.created_ms = node->created_ms;
  reply.child_count = static_cast<std::int32_t>(node->children.size());
  reply.pzxid = {node->pzxid};
  reply.version = node->version;
  reply.data_length = static_cast<std::int32_t>(node->data.size());
  reply.next_sequence = {node->counter};
  return reply;
}

Reply contents(const Node* node) {
  Reply reply = stat(node);
  if (node != nullptr) reply.data = node->data;
  return reply;
}

Reply children(const Node* node) {
  Reply reply = stat(node);
  if (node != nullptr) reply.children = node->children;
  return reply;
}

}  // namespace

Reply status_only(Status status) {
  Reply reply;
  reply.status = status;
  return reply;
}

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

AnsweredBy answered_by(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::create_contender:
    case OperationKind::create_parents:
    case OperationKind::check:
    case OperationKind::remove:
    case OperationKind::announce_and_delete:
    case OperationKind::transaction: return AnsweredBy::quorum;
    case OperationKind::sync: return AnsweredBy::leader;
    case OperationKind::count_children:
    case OperationKind::list_children:
    case OperationKind::get:
    case OperationKind::get_and_watch:
    case OperationKind::list_and_watch:
    case OperationKind::exists_and_watch: return AnsweredBy::server;
  }
  return AnsweredBy::server;
}

const Node* Tree::find(std::string_view path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : &found->second;
}

Node* Tree::find(std::string_view path) {
  return const_cast<Node*>(std::as_const(*this).find(path));
}

Node& Tree::add(std::string path, Node node) {
  Node* parent = find(parent_of(path));
  parent->children.emplace_back(name_of(path));
  // The counter stays at its end. ZooKeeper treats a change of the parent without a higher counter
  // as one that it has already applied.
  if (parent->counter != std::numeric_limits<std::int32_t>::max()) {
    ++parent->counter;
    parent->pzxid = node.czxid;
  }
  return nodes_.insert_or_assign(std::move(path), std::move(node)).first->second;
}

void Tree::remove(const std::string& path) {
  auto& siblings = find(parent_of(path))->children;
  const auto self = std::find(siblings.begin(), siblings.end(), name_of(path));
  std::swap(*self, siblings.back());
  siblings.pop_back();
  nodes_.erase(path);
}

Reply read(const Tree& tree, const Operation& operation, Credential client, ExistsRule rule) {
  const auto not_a_read = [] {
    assert(false && "a quorum operation");
    return status_only(Status::server_error);
  };
  const auto if_readable = [&](const auto& request, Reply (*answer)(const Node*)) {
    const Node* node = tree.find(request.path);
    const bool readable = node == nullptr || node->acl.allows(AclEntry::read, client);
    return readable ? answer(node) : status_only(Status::no_auth);
  };
  const auto exists = [&](const auto& request) {
    return rule == ExistsRule::needs_read ? if_readable(request, stat)
                                          : stat(tree.find(request.path));
  };
  return std::visit(Overloaded{
                        [&](const Exists& r) { return exists(r); },
                        [&](const ExistsAndWatch& r) { return exists(r); },
                        [&](const ListChildren& r) { return if_readable(r, children); },
                        [&](const ListAndWatch& r) { return if_readable(r, children); },
                        [&](const Get& r) { return if_readable(r, contents); },
                        [&](const GetAndWatch& r) { return if_readable(r, contents); },
                        [&](const CreateContender&) { return not_a_read(); },
                        [&](const CreateParents&) { return not_a_read(); },
                        [&](const Check&) { return not_a_read(); },
                        [&](const Delete&) { return not_a_read(); },
                        [&](const AnnounceAndDelete&) { return not_a_read(); },
                        [&](const Transaction&) { return not_a_read(); },
                        [&](const Sync&) { return status_only(Status::ok); },
                    },
                    operation);
}

}  // namespace zklock::model
