// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_ensemble.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "zklock/client/port/request.h"

namespace zklock::model {

using namespace client::request;

namespace {

std::string child_of(const std::string& parent, std::string_view name) {
  std::string path = parent == "/" ? std::string() : parent;
  return path.append("/").append(name);
}

}  // namespace

Reply SimEnsemble::apply(SessionId session, const Operation& operation) {
  if (!is_alive(session)) return status_only(Status::session_ended);
  if (!is_quorum_operation(kind_of(operation))) {
    return read(tree_, operation, credential(session), exists_rule_);
  }
  acting_ = session;
  Reply reply = carry_out_request(session, operation);
  acting_ = {};
  return reply;
}

Reply SimEnsemble::create_path(SessionId session, const std::string& path) {
  if (!is_alive(session)) return status_only(Status::session_ended);
  acting_ = session;
  NewNode made{.path = path, .container = true};
  const Status status = make(made, credential(session));
  acting_ = {};
  return status_only(status);
}

Reply SimEnsemble::carry_out_request(SessionId session, const Operation& operation) {
  const auto remove_node = [&](const std::string& path) {
    const Status status = check_remove(path, -1, credential(session));
    return status == Status::ok ? remove(path) : status;
  };
  return std::visit(
      Overloaded{
          [&](const CreateContender& r) { return create_contender(session, r); },
          [&](const CreateParents& r) {
            return status_only(create_parents(r.path, credential(session)));
          },
          [&](const Check& r) { return transaction(session, client::as_transaction(r)); },
          [&](const Delete& r) { return status_only(remove_node(r.path)); },
          [&](const AnnounceAndDelete& r) {
            return transaction(session, client::as_transaction(r));
          },
          [&](const Transaction& r) { return transaction(session, r); },
          [&](const auto& /*read*/) { return status_only(Status::server_error); },
      },
      operation);
}

Reply SimEnsemble::create_contender(SessionId session, const CreateContender& request) {
  NewNode made{.path = child_of(request.parent, request.prefix),
               .data = request.data,
               .owner = session,
               .acl = contender_acl(session),
               .sequential = true};
  Reply reply = status_only(make(made, credential(session)));
  if (reply.status != Status::ok) return reply;
  reply.created_ms = find(made.path)->created_ms;
  reply.name = name_of(made.path);
  reply.token = {zxid_};
  return reply;
}

// Creates every level, and checks the last, as the coordinator does.
Status SimEnsemble::create_parents(const std::string& path, Author author) {
  const auto is_there = [](Status status) {
    return status == Status::ok || status == Status::node_exists;
  };
  Status refusal = Status::ok;  // the first one below the last level that exists
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    NewNode level{.path = path.substr(0, end), .container = true};
    const Status status = make(level, author);
    if (is_there(status)) {
      refusal = Status::ok;
    } else if (refusal == Status::ok) {
      refusal = status;
    }
    if (end == std::string::npos) break;
  }
  return find(path) == nullptr ? refusal : Status::ok;
}

Reply SimEnsemble::transaction(SessionId session, const Transaction& request) {
  if (request.guard.empty() && request.writes.empty()) return status_only(Status::server_error);
  std::vector<Write> operations;
  if (!request.guard.empty()) operations.emplace_back(write::CheckVersion{request.guard});
  operations.insert(operations.end(), request.writes.begin(), request.writes.end());

  // A single operation that fails changes nothing.
  std::optional<Tree> before;
  std::map<SessionId, std::vector<std::string>> ephemerals_before;  // of all sessions
  if (operations.size() > 1) {
    before = tree_;
    for (const auto& [id, each] : sessions_) ephemerals_before.emplace(id, each.ephemerals);
  }
  const std::int64_t zxid_before = zxid_;
  progress_ = Progress{};
  Reply made = status_only(Status::ok);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Status status = carry_out(session, operations[i], made);
    if (status == Status::ok) continue;
    progress_.reset();
    if (before) {
      tree_ = std::move(*before);
      for (auto& [id, each] : sessions_) each.ephemerals = std::move(ephemerals_before.at(id));
    }
    zxid_ = zxid_before;
    Reply reply = status_only(status);
    reply.failed_operation = static_cast<int>(i);
    return reply;
  }
  const Progress done = *std::exchange(progress_, std::nullopt);
  for (const NodeEvent& each : done.events) notify(each.path, each.event, each.acl);
  return made;
}

Status SimEnsemble::carry_out(SessionId session, const Write& operation, Reply& reply) {
  const Author author = credential(session);
  return std::visit(Overloaded{
                        [&](const write::Create& w) {
                          NewNode made{.path = w.path,
                                       .data = w.data,
                                       .owner = w.ephemeral ? session : SessionId{},
                                       .acl = w.lock_acl ? contender_acl(session) : NodeAcl{},
                                       .sequential = w.sequential};
                          const Status status = make(made, author);
                          if (status == Status::ok && w.sequential) reply.name = name_of(made.path);
                          return status;
                        },
                        [&](const write::Set& w) {
                          const Status status =
                              check_node(w.path, w.version, AclEntry::write, author);
                          if (status == Status::ok) write(w.path, w.data);
                          return status;
                        },
                        [&](const write::Remove& w) {
                          const Status status = check_remove(w.path, w.version, author);
                          return status == Status::ok ? remove(w.path) : status;
                        },
                        [&](const write::CheckVersion& w) {
                          return check_node(w.path, w.version, AclEntry::read, author);
                        },
                    },
                    operation);
}

Status SimEnsemble::check_node(const std::string& path, std::int32_t version,
                               AclEntry::Permission permission, Author author) const {
  const Node* node = find(path);
  if (node == nullptr) return Status::no_node;
  if (author && !node->acl.allows(permission, *author)) return Status::no_auth;
  return version == -1 || version == node->version ? Status::ok : Status::bad_version;
}

Status SimEnsemble::check_remove(const std::string& path, std::int32_t version,
                                 Author author) const {
  const Node* parent = find(parent_of(path));
  if (parent == nullptr) return Status::no_node;
  if (author && !parent->acl.allows(AclEntry::remove, *author)) return Status::no_auth;
  const Node* node = find(path);
  if (node == nullptr) return Status::no_node;
  if (version != -1 && version != node->version) return Status::bad_version;
  return node->children.empty() ? Status::ok : Status::not_empty;
}

Status SimEnsemble::make(NewNode& made, Author author) {
  const std::string_view parent_path = parent_of(made.path);
  const Node* parent = find(parent_path);
  if (parent == nullptr) return Status::no_node;
  if (author && !parent->acl.allows(AclEntry::create, *author)) return Status::no_auth;
  if (made.sequential) {
    auto number = static_cast<std::uint32_t>(parent->counter);
    if (progress_) {
      const auto beyond = progress_->beyond_end.find(parent_path);
      if (beyond != progress_->beyond_end.end()) number += beyond->second;
    }
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", static_cast<std::int32_t>(number));
    made.path += digits;
  }
  if (find(made.path) != nullptr) return Status::node_exists;
  if (parent->owner != SessionId{}) return Status::server_error;  // ephemerals have no children
  add(made);
  return Status::ok;
}

Status SimEnsemble::create(const std::string& path, std::string data, SessionId owner,
                           NodeAcl acl) {
  if (owner != SessionId{} && !is_alive(owner)) return Status::session_ended;
  NewNode made{.path = path, .data = std::move(data), .owner = owner, .acl = acl};
  return make(made, std::nullopt);
}

Status SimEnsemble::create_container(const std::string& path) {
  NewNode made{.path = path, .container = true};
  return make(made, std::nullopt);
}

std::optional<std::string> SimEnsemble::create_sequential(const std::string& parent,
                                                          std::string_view prefix, std::string data,
                                                          SessionId owner) {
  if (owner != SessionId{} && !is_alive(owner)) return std::nullopt;
  NewNode made{.path = child_of(parent, prefix),
               .data = std::move(data),
               .owner = owner,
               .sequential = true};
  if (make(made, std::nullopt) != Status::ok) return std::nullopt;
  return std::string(name_of(made.path));
}

Status SimEnsemble::set_data(const std::string& path, std::string data) {
  if (find(path) == nullptr) return Status::no_node;
  write(path, std::move(data));
  return Status::ok;
}

void SimEnsemble::write(const std::string& path, std::string data) {
  Node& node = *tree_.find(path);
  node.data = std::move(data);
  node.mzxid = next_zxid();
  ++node.version;
  notify(path, WatchEvent::changed, node.acl);
}

// ZooKeeper sends no watch event.
Status SimEnsemble::set_acl(const std::string& path, NodeAcl acl) {
  Node* node = tree_.find(path);
  if (node == nullptr) return Status::no_node;
  next_zxid();
  node->acl = acl;
  return Status::ok;
}

Status SimEnsemble::remove(const std::string& path) {
  if (const Status status = check_remove(path, -1, std::nullopt); status != Status::ok) {
    return status;
  }
  next_zxid();
  erase(path);
  return Status::ok;
}

void SimEnsemble::set_counter(const std::string& path, std::int32_t next) {
  tree_.find(path)->counter = next;
}

std::size_t SimEnsemble::reap_containers() {
  std::vector<std::string> paths;
  for (const auto& [path, node] : tree_.nodes()) {
    if (node.container) paths.push_back(path);
  }
  std::reverse(paths.begin(), paths.end());  // children before their parents
  std::size_t reaped = 0;
  for (const std::string& path : paths) {
    const Node& node = *find(path);
    if (node.counter == 0 || !node.children.empty()) continue;
    remove(path);
    ++reaped;
  }
  return reaped;
}

void SimEnsemble::add(const NewNode& made) {
  if (made.owner != SessionId{}) sessions_.at(made.owner).ephemerals.push_back(made.path);
  Node node;
  node.data = made.data;
  node.acl = made.acl;
  node.czxid = node.mzxid = node.pzxid = next_zxid();
  node.created_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        clock_.now().time_since_epoch() + wall_clock_)
                        .count();
  node.owner = made.owner;
  node.container = made.container;
  const std::string parent_path(parent_of(made.path));
  const Node& parent = *find(parent_path);
  if (progress_ && parent.counter == std::numeric_limits<std::int32_t>::max()) {
    ++progress_->beyond_end[parent_path];
  }
  tree_.add(made.path, std::move(node));
  notify(made.path, WatchEvent::created, made.acl);
  notify(parent_path, WatchEvent::children, parent.acl);
}

void SimEnsemble::erase(const std::string& path) {
  const Node& node = *find(path);
  const NodeAcl acl = node.acl;
  const auto session = sessions_.find(node.owner);
  if (session != sessions_.end()) std::erase(session->second.ephemerals, path);
  tree_.remove(path);
  const std::string parent_path(parent_of(path));
  Node& parent = *tree_.find(parent_path);
  parent.pzxid = zxid_;
  notify(path, WatchEvent::deleted, acl);
  notify(parent_path, WatchEvent::children, parent.acl);
}

NodeAcl SimEnsemble::contender_acl(SessionId session) const {
  return {.everyone = contenders_are_readable_ ? AclEntry::read : 0, .owner = credential(session)};
}

std::int64_t SimEnsemble::next_zxid() {
  // All changes of one transaction share one zxid.
  if (!progress_ || !std::exchange(progress_->changes, true)) ++zxid_;
  return zxid_;
}

void SimEnsemble::notify(const std::string& path, WatchEvent event, const NodeAcl& acl) {
  if (progress_) {
    progress_->events.push_back({path, event, acl});
    return;
  }
  for (Server* server : servers_) server->on_node_event(path, event, acl);
}

}  // namespace zklock::model
