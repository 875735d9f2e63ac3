// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/call.h"

#include <algorithm>
#include <atomic>

#include "zklock/client/zookeeper/zk_error.h"
#include "zklock/core/permission_text.h"

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

/// Returns whether the text of the Errc says more than the name of the C client's code.
bool says_enough(Status status) noexcept {
  return status == Status::quota_exceeded || status == Status::read_only ||
         status == Status::invalid_acl || status == Status::closed;
}

}  // namespace

PendingId PendingRequests::add(std::shared_ptr<Call> call, std::size_t sub_request) {
  static constinit std::atomic<PendingId> last{0};
  PendingId id = ++last;
  if (id == 0) id = ++last;  // pointers are short, and the counter has wrapped
  pending_.push_back({id, std::move(call), sub_request});
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

Call::Sent Call::end_send(int code, const CallContext& context) {
  if (code == ZOK) {
    session_ = context.session;
    return Sent::yes;
  }
  if (code == ZINVALIDSTATE) return Sent::handle_is_dead;
  if (code != kRefused) set_status(context, code);
  return Sent::refused;
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

}  // namespace zklock::client
