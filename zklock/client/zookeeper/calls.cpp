// SPDX-License-Identifier: Apache-2.0
// The calls that create and delete znodes.
#include "zklock/client/zookeeper/calls.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/client/zookeeper/zk_error.h"
#include "zklock/client/zookeeper/znode_path.h"

namespace zklock::client {
namespace {

class CreateContenderCall final : public Call {
 public:
  CreateContenderCall(const std::string& chroot, request::CreateContender operation, Origin origin)
      : Call(std::move(origin)),
        path_(full_path(chroot, operation.parent, operation.prefix)),
        data_(std::move(operation.data)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return true; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    if (wire.reply.status == Status::ok && completion.value != nullptr &&
        completion.stat != nullptr) {
      wire.reply.name = name_of(completion.value);
      wire.reply.token = {completion.stat->czxid};
      wire.reply.created_ms = completion.stat->ctime;
      wire.nodes.created(completion.value, name_of(path_));
    } else if (wire.reply.status == Status::unknown) {
      wire.nodes.unknown(parent_of(path_), name_of(path_));
    } else {
      wire.nodes.failed(parent_of(path_), name_of(path_));
    }
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    Departure departure(*this, wire);
    if (!wire.nodes.reserve(parent_of(path_), name_of(path_))) {
      return refuse(wire, Status::too_many_nodes,
                    "the session's nodes have reached max_node_bytes");
    }
    const int code = departure.sent(
        zoo_acreate2(wire.handle, path_.c_str(), data_.data(), static_cast<int>(data_.size()),
                     &wire.node_acl.c_acl(), ZOO_EPHEMERAL_SEQUENTIAL,
                     &CompletionSink::on_string_stat, departure.data()));
    if (code != ZOK) wire.nodes.failed(parent_of(path_), name_of(path_));
    return code;
  }

  const std::string path_;  // without the sequence number
  const std::string data_;
};

/// Creates all levels in one burst, from the top, and then checks that the last exists. The check
/// is needed because a parent without CREATE permission can have the child already.
class CreateParentsCall final : public Call {
 public:
  CreateParentsCall(const std::string& chroot, const request::CreateParents& operation,
                    Origin origin)
      : Call(std::move(origin)), last_(full_path(chroot, operation.path)) {
    for (auto end = last_.find('/', chroot.size() + 1); end != std::string::npos;
         end = last_.find('/', end + 1)) {
      levels_.push_back(last_.substr(0, end));
    }
    if (operation.path != "/") levels_.push_back(last_);
    codes_.resize(levels_.size() + 1, ZOK);
    outstanding_ = codes_.size();
  }

  bool is_write(std::size_t part) const noexcept override { return part < levels_.size(); }

  bool complete(std::size_t part, const Completion& completion, const Wire& wire) override {
    codes_[part] = completion.code;
    if (--outstanding_ > 0) return false;
    answer(wire, verdict());
    // Only a missing chroot is permanent, because zklock does not create it. A level that was
    // deleted in between can be created again.
    if (wire.reply.status == Status::no_node && codes_.front() != ZNONODE) {
      refuse(wire, Status::throttled, "a parent was deleted meanwhile");
    }
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    const int first = ask(wire, 0);
    if (first != ZOK) return first;
    // The first request is in flight, and the reply waits for it. A part that cannot be sent now is
    // complete at once.
    for (std::size_t part = 1; part < codes_.size(); ++part) {
      const int code = ask(wire, part);
      if (code == ZOK) continue;
      codes_[part] = code == ZINVALIDSTATE ? static_cast<int>(ZCONNECTIONLOSS) : code;
      --outstanding_;
    }
    return ZOK;
  }

  int ask(const Wire& wire, std::size_t part) {
    Departure departure(*this, wire, part);
    return departure.sent(part < levels_.size()
                              ? create(wire, levels_[part], departure.data())
                              : zoo_aexists(wire.handle, last_.c_str(), 0, &CompletionSink::on_stat,
                                            departure.data()));
  }

  static int create(const Wire& wire, const std::string& path, const void* data) {
    return zoo_acreate2(wire.handle, path.c_str(), "", 0, &wire.parent_acl.c_acl(), ZOO_CONTAINER,
                        &CompletionSink::on_string_stat, data);
  }

  int verdict() const {
    const int last = levels_.empty() ? codes_.back() : codes_[levels_.size() - 1];
    if (last == ZOK || last == ZNODEEXISTS || codes_.back() == ZOK) return ZOK;
    for (const int code : codes_) {
      if (code != ZOK && code != ZNODEEXISTS) return code;
    }
    return codes_.back();
  }

  const std::string last_;
  std::vector<std::string> levels_;
  std::vector<int> codes_;  // one for each level, and one for the existence check
  std::size_t outstanding_ = 0;
};

class DeleteCall final : public Call {
 public:
  DeleteCall(request::Delete operation, Origin origin)
      : Call(std::move(origin)), op_(std::move(operation)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return true; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    if (wire.reply.status == Status::ok) wire.nodes.deleted(op_.path);
    if (wire.reply.status == Status::no_node) wire.nodes.missing(op_.path);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    Departure departure(*this, wire);
    return departure.sent(
        zoo_adelete(wire.handle, op_.path.c_str(), -1, &CompletionSink::on_void, departure.data()));
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

std::shared_ptr<Call> make(request::Delete operation, Origin origin) {
  return std::make_shared<DeleteCall>(std::move(operation), std::move(origin));
}

std::shared_ptr<Call> make_call(const std::string& chroot, Operation operation, Origin origin) {
  return std::visit(
      [&](auto& op) -> std::shared_ptr<Call> {
        if constexpr (std::is_same_v<decltype(op), request::CreateParents&>) {
          return std::make_shared<CreateParentsCall>(chroot, op, std::move(origin));
        } else if constexpr (std::is_same_v<decltype(op), request::CreateContender&>) {
          return std::make_shared<CreateContenderCall>(chroot, std::move(op), std::move(origin));
        } else {
          put_below(chroot, op);
          return make(std::move(op), std::move(origin));
        }
      },
      operation);
}

}  // namespace zklock::client
