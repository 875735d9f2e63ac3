// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/call.h"

#include <algorithm>
#include <atomic>
#include <variant>

#include "zklock/client/port/request.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/core/cause_texts.h"

namespace zklock::client {

namespace {

/// Returns the sequence number of the next child, which is the count of creates below the znode.
/// The `cversion` of a server counts creates and deletes: 2 * creates - numChildren, in 32 bits.
core::Sequence next_sequence(const Stat& stat) noexcept {
  const auto twice =
      static_cast<std::uint32_t>(stat.cversion) + static_cast<std::uint32_t>(stat.numChildren);
  return {static_cast<std::int32_t>(twice / 2)};
}

/// Returns the path as the user knows it: below the chroot.
std::string shown(std::string_view path, std::string_view chroot) {
  if (chroot.empty()) return std::string(path);
  if (path.size() <= chroot.size()) return "the chroot " + std::string(path);
  return std::string(path.substr(chroot.size()));
}

std::string cap_reached(const std::string& what, const std::string& option, std::size_t bytes) {
  return "the session's " + what + " have reached ClientOptions::" + option + " (" +
         std::to_string(bytes) + " bytes); use fewer locks at once, or another Client";
}

/// Makes the call of an operation whose paths are below `chroot`.
struct CallMaker {
  const std::string& chroot;
  CallHeader header;
  bool create_chroot;

  using CallPtr = std::shared_ptr<Call>;
  CallPtr read(ReadKind kind, std::string& path, request::OnWatchEvent on_event = {}) {
    return make_read(kind, full(path), std::move(on_event), std::move(header));
  }
  std::string full(std::string& path) const { return full_path(chroot, std::move(path)); }

  CallPtr operator()(request::Exists& op) { return read(ReadKind::exists, op.path); }
  CallPtr operator()(request::ExistsAndWatch& op) {
    return read(ReadKind::exists, op.path, std::move(op.on_event));
  }
  CallPtr operator()(request::ListChildren& op) { return read(ReadKind::list, op.path); }
  CallPtr operator()(request::ListAndWatch& op) {
    return read(ReadKind::list, op.path, std::move(op.on_event));
  }
  CallPtr operator()(request::Get& op) { return read(ReadKind::get, op.path); }
  CallPtr operator()(request::GetAndWatch& op) {
    return read(ReadKind::get, op.path, std::move(op.on_event));
  }
  CallPtr operator()(request::Sync& op) { return make_sync(full(op.path), std::move(header)); }
  CallPtr operator()(request::CreateContender& op) {
    return make_create(chroot, std::move(op), std::move(header));
  }
  CallPtr operator()(request::CreateParents& op) {
    return make_create_parents(create_chroot ? std::string() : chroot, full(op.path),
                               std::move(header));
  }
  CallPtr operator()(request::Delete& op) { return make_delete(full(op.path), std::move(header)); }
  CallPtr operator()(request::AnnounceAndDelete& op) {
    return make_announce(full(op.path), std::move(header));
  }
  CallPtr operator()(request::Transaction& op) {
    if (!op.guard.empty()) op.guard = full(op.guard);
    for (request::Write& write : op.writes) path_of(write) = full(path_of(write));
    return make_transaction(std::move(op), std::move(header));
  }
  CallPtr operator()(request::Check& op) {
    request::Transaction check = as_transaction(std::move(op));
    return (*this)(check);
  }
};

/// Returns whether the text of the Errc says more than the name of the C client's code.
bool says_enough(Status status) noexcept {
  return status == Status::quota_exceeded || status == Status::read_only ||
         status == Status::invalid_acl || status == Status::closed;
}

}  // namespace

PendingId PendingRequests::add(std::shared_ptr<Call> call, RequestKind kind,
                               std::size_t sub_request) {
  static constinit std::atomic<PendingId> last{0};
  PendingId id = ++last;
  if (id == 0) id = ++last;  // pointers are short, and the counter has wrapped
  pending_.push_back({id, std::move(call), kind, sub_request});
  return id;
}

std::optional<PendingRequest> PendingRequests::take(PendingId id) noexcept {
  const auto found = std::ranges::find(pending_, id, &PendingRequest::id);
  if (found == pending_.end()) return std::nullopt;
  std::optional<PendingRequest> pending(std::move(*found));
  pending_.erase(found);
  return pending;
}

Reply Call::blank_reply() const {
  Reply reply;
  reply.session = session_;
  reply.sent_at = sent_at_;
  return reply;
}

void Call::begin_send() noexcept {
  sent_at_ = boot_time();
}

void Call::set_status(const CallContext& context, int code) {
  context.reply.status = to_status(code);
  const bool is_named = code == ZOK || says_enough(context.reply.status);
  context.reply.detail = is_named ? std::string() : code_name(code);
  if (code == ZUNIMPLEMENTED) {
    context.reply.detail = "the server is too old: zklock needs ZooKeeper 3.5.1 or later";
  }
}

void Call::set_status(const CallContext& context, int code, const Permission& needed) {
  set_status(context, code);
  if (code == ZNOCHILDRENFOREPHEMERALS) {
    context.reply.detail = shown(needed.path, context.hosts.chroot()) +
                           " is an ephemeral znode, which cannot have children; use another path";
  }
  if (code != ZNOAUTH) return;
  context.reply.detail =
      core::no_permission(needed.name, shown(needed.path, context.hosts.chroot()), context.user);
  context.reply.detail += core::permission_advice(context.user);
}

int Call::refuse(const CallContext& context, Status status, std::string detail) {
  context.reply.status = status;
  context.reply.detail = std::move(detail);
  return kRefused;
}

int Call::refuse_node(const CallContext& context) {
  return refuse(context, Status::too_many_nodes,
                cap_reached("znodes", "max_node_bytes", context.nodes.max_bytes()));
}

int Call::refuse_watch(const CallContext& context) {
  return refuse(context, Status::too_many_watches,
                cap_reached("watches", "max_watch_bytes", context.watches.max_bytes()));
}

void Call::copy_stat(const Stat* stat, Reply& reply) noexcept {
  if (stat == nullptr) return;
  reply.token = {stat->czxid};
  reply.created_ms = stat->ctime;
  reply.ephemeral_owner = {stat->ephemeralOwner};
  reply.child_count = stat->numChildren;
  reply.pzxid = {stat->pzxid};
  reply.version = stat->version;
  reply.data_length = stat->dataLength;
  reply.next_sequence = next_sequence(*stat);
}

std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, CallHeader header,
                                bool create_chroot) {
  header.operation = operation.index();
  return std::visit(CallMaker{chroot, std::move(header), create_chroot}, operation);
}

}  // namespace zklock::client
