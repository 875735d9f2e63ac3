// SPDX-License-Identifier: Apache-2.0
// The calls that create and delete znodes, without a multi.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/client/port/znode_path.h"
#include "zklock/client/zookeeper/call.h"
#include "zklock/core/cause_texts.h"

namespace zklock::client {
namespace {

/// Sends a create of the container `path`, which is a full path. Returns the code of the C client.
int create_container(const CallContext& context, const std::string& path, const void* data) {
  return zoo_acreate2(context.handle, path.c_str(), "", 0, &context.parent_acl.c_acl(),
                      ZOO_CONTAINER, &HandleCallbacks::on_string_stat, data);
}

int send_exists(const CallContext& context, const std::string& path, const void* data) {
  return zoo_aexists(context.handle, path.c_str(), 0, &HandleCallbacks::on_stat, data);
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

  int issue(const CallContext& context) override {
    if (!context.nodes.reserve(path_)) return refuse_node(context);
    const std::string parent(makes_path_ || parent_ ? parent_of(path_) : std::string_view());
    if (makes_path_) {
      const void* const data = add_pending(context, RequestKind::write, make_path);
      const int code = drop_if_unsent(context, create_container(context, parent, data));
      if (code != ZOK) return unsent(context, code);
    }
    const void* const data = add_pending(context, RequestKind::write, create);
    const int code = drop_if_unsent(
        context, zoo_acreate2(context.handle, path_.c_str(), data_.data(),
                              static_cast<int>(data_.size()), &context.node_acl.c_acl(),
                              ZOO_EPHEMERAL_SEQUENTIAL, &HandleCallbacks::on_string_stat, data));
    if (code != ZOK) {
      // If only the path could be created, its completion must find no call: nothing counts as
      // sent.
      if (makes_path_) context.pending.drop_last();
      return unsent(context, code);
    }
    if (parent_) {
      const void* const for_exists = add_pending(context, RequestKind::read, exists);
      awaits_exists_ = drop_if_unsent(context, send_exists(context, parent, for_exists)) == ZOK;
    }
    return ZOK;
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
    const bool has_result = completion.value != nullptr && completion.stat != nullptr;
    if (context.reply.status == Status::ok && has_result) {
      context.reply.name = name_of(completion.value);
      context.reply.token = {completion.stat->czxid};
      context.reply.created_ms = completion.stat->ctime;
      context.reply.path_existed = makes_path_ && !made_path_;
      context.nodes.created(completion.value, path_);
    } else if (context.reply.status == Status::unknown) {
      context.nodes.unknown(path_);
    } else {
      context.nodes.failed(path_);
    }
    if (awaits_exists_) created_ = std::move(context.reply);
    return !awaits_exists_;
  }

 private:
  enum SubRequest : std::size_t { create, exists, make_path };

  int unsent(const CallContext& context, int code) const noexcept {
    context.nodes.failed(path_);
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
      context.reply.detail =
          core::missing_chroot(context.hosts.chroot(), context.hosts.servers_text());
    }
    return true;
  }

 private:
  /// Sends the create of a level, or the existence check behind the last one.
  int send(const CallContext& context, std::size_t sub_request) {
    const bool is_level = sub_request < levels_.size();
    const void* const data =
        add_pending(context, is_level ? RequestKind::write : RequestKind::read, sub_request);
    return drop_if_unsent(context, is_level ? create_container(context, levels_[sub_request], data)
                                            : send_exists(context, last_, data));
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
  DeleteCall(std::string path, CallHeader header)
      : Call(std::move(header)), path_(std::move(path)) {}

  int issue(const CallContext& context) override {
    const void* const data = add_pending(context, RequestKind::write);
    return drop_if_unsent(
        context, zoo_adelete(context.handle, path_.c_str(), -1, &HandleCallbacks::on_void, data));
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code, {"DELETE", parent_of(path_)});
    if (context.reply.status == Status::ok) context.nodes.deleted(path_);
    if (context.reply.status == Status::no_node) context.nodes.missing(path_);
    return true;
  }

 private:
  const std::string path_;
};

}  // namespace

std::shared_ptr<Call> make_create(const std::string& chroot, request::CreateContender operation,
                                  CallHeader header) {
  return std::make_shared<CreateContenderCall>(chroot, std::move(operation), std::move(header));
}

std::shared_ptr<Call> make_create_parents(const std::string& existing, std::string path,
                                          CallHeader header) {
  return std::make_shared<CreateParentsCall>(existing, std::move(path), std::move(header));
}

std::shared_ptr<Call> make_delete(std::string path, CallHeader header) {
  return std::make_shared<DeleteCall>(std::move(path), std::move(header));
}

}  // namespace zklock::client
