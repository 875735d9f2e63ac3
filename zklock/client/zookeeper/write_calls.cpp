// SPDX-License-Identifier: Apache-2.0
// The calls that create and delete znodes.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/client/port/znode_path.h"
#include "zklock/client/zookeeper/make_call.h"
#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {
namespace {

/// Sends a create of the container `path`, which is a full path. Returns the code of the C client.
int create_container(const CallContext& context, const std::string& path, const void* data) {
  return zoo_acreate2(context.handle, path.c_str(), "", 0, &context.parent_acl.c_acl(),
                      ZOO_CONTAINER, &CompletionSink::on_string_stat, data);
}

class CreateContenderCall final : public Call {
 public:
  CreateContenderCall(const std::string& chroot, request::CreateContender operation,
                      CallHeader header)
      : Call(std::move(header)),
        path_(full_path(chroot, operation.parent, operation.prefix)),
        data_(std::move(operation.data)),
        makes_path_(operation.makes_path),
        parent_(operation.counts ? std::make_shared<Reply>() : nullptr) {}

  AnsweredBy answered_by(std::size_t sub_request) const noexcept override {
    return sub_request == exists ? AnsweredBy::server : AnsweredBy::quorum;
  }

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    if (sub_request == make_path) {  // answered before the create
      made_path_ = completion.code == ZOK;
      return false;
    }
    set_status(context, completion.code, {"CREATE", parent_of(path_)});
    if (sub_request == exists) {
      copy_stat(completion.stat, context.reply);
      *parent_ = std::exchange(context.reply, std::move(created_));
      return true;
    }
    context.reply.parent = parent_;
    if (context.reply.status == Status::ok && completion.value != nullptr &&
        completion.stat != nullptr) {
      context.reply.name = name_of(completion.value);
      context.reply.token = {completion.stat->czxid};
      context.reply.created_ms = completion.stat->ctime;
      context.reply.path_existed = makes_path_ && !made_path_;
      context.nodes.created(completion.value, name_of(path_));
    } else if (context.reply.status == Status::unknown) {
      context.nodes.unknown(parent_of(path_), name_of(path_));
    } else {
      context.nodes.failed(parent_of(path_), name_of(path_));
    }
    if (awaits_exists_) created_ = std::move(context.reply);
    return !awaits_exists_;
  }

 private:
  enum SubRequest : std::size_t { create, exists, make_path };

  int issue(const CallContext& context) override {
    // All before the first is sent: after that, a lack of memory must not end the call.
    std::optional<OutgoingRequest> before;
    if (makes_path_) before.emplace(*this, context, make_path);
    OutgoingRequest outgoing(*this, context, create);
    std::optional<OutgoingRequest> after;
    if (parent_) after.emplace(*this, context, exists);
    const std::string parent(makes_path_ || parent_ ? parent_of(path_) : std::string_view());
    if (!context.nodes.reserve(parent_of(path_), name_of(path_))) return refuse_node(context);
    int code = before ? create_container(context, parent, before->data()) : static_cast<int>(ZOK);
    if (code == ZOK) {
      code = outgoing.sent(zoo_acreate2(context.handle, path_.c_str(), data_.data(),
                                        static_cast<int>(data_.size()), &context.node_acl.c_acl(),
                                        ZOO_EPHEMERAL_SEQUENTIAL, &CompletionSink::on_string_stat,
                                        outgoing.data()));
    }
    // If only the path could be created, its completion must find no call: nothing counts as sent.
    if (before) before->sent(code);
    if (code != ZOK) {
      context.nodes.failed(parent_of(path_), name_of(path_));
    } else if (after) {
      awaits_exists_ = after->sent(zoo_aexists(context.handle, parent.c_str(), 0,
                                               &CompletionSink::on_stat, after->data())) == ZOK;
    }
    return code;
  }

  const std::string path_;  // without the sequence number
  const std::string data_;
  const bool makes_path_;
  bool made_path_ = false;
  const std::shared_ptr<Reply> parent_;  // to the exists; null without one
  bool awaits_exists_ = false;
  Reply created_;  // the reply to the create, while that to the exists is awaited
};

/// Creates all levels in one burst, from the top, and then checks that the last exists. The check
/// is needed because a parent without CREATE permission can have the child already.
class CreateParentsCall final : public Call {
 public:
  // Creates the levels of the path below `existing`.
  CreateParentsCall(const std::string& existing, std::string path, CallHeader header)
      : Call(std::move(header)), last_(std::move(path)) {
    for (auto end = last_.find('/', existing.size() + 1); end != std::string::npos;
         end = last_.find('/', end + 1)) {
      levels_.push_back(last_.substr(0, end));
    }
    if (last_ != "/" && last_ != existing) levels_.push_back(last_);
    codes_.resize(levels_.size() + 1, ZOK);
    outstanding_ = codes_.size();
  }

  AnsweredBy answered_by(std::size_t sub_request) const noexcept override {
    return sub_request < levels_.size() ? AnsweredBy::quorum : AnsweredBy::server;
  }

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    codes_[sub_request] = completion.code;
    if (--outstanding_ > 0) return false;
    const int code = verdict();
    set_status(context, code, {"CREATE", parent_of(refused_level(code))});
    if (context.reply.status != Status::no_node) return true;
    // Only a missing chroot that is not to be created is permanent. A level that was deleted in
    // between can be created again.
    if (codes_.front() != ZNONODE) {
      refuse(context, Status::throttled, "a parent was deleted meanwhile");
    } else {
      context.reply.detail = "the chroot " + context.hosts.chroot() + " of " +
                             context.hosts.servers_text() +
                             " does not exist; create it, or set ClientOptions::create_chroot";
    }
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    const int first = send(context, 0);
    if (first != ZOK) return first;
    // The first request is in flight, and the reply waits for it. A sub-request that cannot be sent
    // now is complete at once.
    for (std::size_t sub_request = 1; sub_request < codes_.size(); ++sub_request) {
      const int code = send(context, sub_request);
      if (code == ZOK) continue;
      codes_[sub_request] = code == ZINVALIDSTATE ? static_cast<int>(ZCONNECTIONLOSS) : code;
      --outstanding_;
    }
    return ZOK;
  }

  int send(const CallContext& context, std::size_t sub_request) {
    OutgoingRequest outgoing(*this, context, sub_request);
    return outgoing.sent(sub_request < levels_.size()
                             ? create_container(context, levels_[sub_request], outgoing.data())
                             : zoo_aexists(context.handle, last_.c_str(), 0,
                                           &CompletionSink::on_stat, outgoing.data()));
  }

  int verdict() const {
    const int last = levels_.empty() ? codes_.back() : codes_[levels_.size() - 1];
    if (last == ZOK || last == ZNODEEXISTS) return ZOK;
    // A server that requires READ permission for an exists refuses only an existing znode.
    if (codes_.back() == ZNOAUTH) return ZOK;
    if (codes_.back() != ZNONODE) return codes_.back();  // it exists, or its answer was lost
    // A refusal above a level that exists means nothing.
    std::size_t level = levels_.size();
    while (level > 0 && codes_[level - 1] != ZOK && codes_[level - 1] != ZNODEEXISTS) --level;
    return codes_[level];
  }

  /// Returns the level whose create was refused by this code, if any was. The servers check the
  /// permission before they check whether the znode exists. So only the last refusal prevented a
  /// create.
  const std::string& refused_level(int code) const {
    std::size_t level = levels_.size();
    while (level > 0 && codes_[level - 1] != code) --level;
    return level > 0 ? levels_[level - 1] : last_;
  }

  const std::string last_;
  std::vector<std::string> levels_;
  std::vector<int> codes_;  // one for each level, and one for the existence check
  std::size_t outstanding_ = 0;
};

class DeleteCall final : public Call {
 public:
  DeleteCall(request::Delete operation, CallHeader header)
      : Call(std::move(header)), op_(std::move(operation)) {}

  AnsweredBy answered_by(std::size_t /*sub_request*/) const noexcept override {
    return AnsweredBy::quorum;
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code, {"DELETE", parent_of(op_.path)});
    if (context.reply.status == Status::ok) context.nodes.deleted(op_.path);
    if (context.reply.status == Status::no_node) context.nodes.missing(op_.path);
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    OutgoingRequest outgoing(*this, context);
    return outgoing.sent(zoo_adelete(context.handle, op_.path.c_str(), -1, &CompletionSink::on_void,
                                     outgoing.data()));
  }

  const request::Delete op_;
};

// Prepends the chroot to the operation's paths.

template <typename Op>
requires requires(Op op) {
  op.path;
}
void put_below(const std::string& chroot, Op& operation) {
  operation.path = full_path(chroot, std::move(operation.path));
}

void put_below(const std::string& chroot, request::Transaction& operation) {
  const auto put = [&](std::string& path) { path = full_path(chroot, std::move(path)); };
  if (!operation.guard.empty()) put(operation.guard);
  for (request::Write& write : operation.writes) put(path_of(write));
}

}  // namespace

std::shared_ptr<Call> make(request::Delete operation, CallHeader header) {
  return std::make_shared<DeleteCall>(std::move(operation), std::move(header));
}

std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, CallHeader header,
                                bool create_chroot) {
  header.operation = operation.index();
  return std::visit(
      [&](auto& op) -> std::shared_ptr<Call> {
        if constexpr (std::is_same_v<decltype(op), request::CreateParents&>) {
          return std::make_shared<CreateParentsCall>(create_chroot ? std::string() : chroot,
                                                     full_path(chroot, std::move(op.path)),
                                                     std::move(header));
        } else if constexpr (std::is_same_v<decltype(op), request::CreateContender&>) {
          return std::make_shared<CreateContenderCall>(chroot, std::move(op), std::move(header));
        } else {
          put_below(chroot, op);
          return make(std::move(op), std::move(header));
        }
      },
      operation);
}

}  // namespace zklock::client
