// SPDX-License-Identifier: Apache-2.0
// How each operation of the port is carried out with the C client.
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/client/call.h"
#include "zklock/client/node_path.h"
#include "zklock/client/zk_error.h"
#include "zklock/core/node_data.h"

namespace zklock::client {
namespace {

// Any code but ZOK and ZINVALIDSTATE: "refused, and the reply already says why".
constexpr int kRefused = ZSYSTEMERROR;

class CreateContenderCall final : public Call {
 public:
  CreateContenderCall(request::CreateContender operation, RequestId id, SessionId session,
                      ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted), op_(std::move(operation)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return true; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(completion.code);
    if (reply().status == Status::ok && completion.value != nullptr && completion.stat != nullptr) {
      reply().name = name_of(completion.value);
      reply().token = {completion.stat->czxid};
      reply().created_ms = completion.stat->ctime;
      wire.nodes.created(op_.parent, op_.prefix, reply().name);
    } else if (reply().status == Status::unknown) {
      wire.nodes.unknown(op_.parent, op_.prefix);
    } else {
      wire.nodes.failed(op_.parent, op_.prefix);
    }
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    if (!wire.nodes.reserve(op_.parent, op_.prefix)) {
      refuse(Status::too_many_nodes, "the session's nodes have reached max_node_bytes");
      return kRefused;
    }
    const std::string path = join(op_.parent, op_.prefix);
    const int code = request(wire, 0, [&](const void* data) {
      return zoo_acreate2(wire.handle, path.c_str(), op_.data.data(),
                          static_cast<int>(op_.data.size()), &wire.node_acl.c_acl(),
                          ZOO_EPHEMERAL_SEQUENTIAL, &RequestRegistry::on_string_stat, data);
    });
    if (code != ZOK) wire.nodes.failed(op_.parent, op_.prefix);
    return code;
  }

  const request::CreateContender op_;
};

class CountChildrenCall final : public Call {
 public:
  CountChildrenCall(request::CountChildren operation, RequestId id, SessionId session,
                    ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted), op_(std::move(operation)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& /*wire*/) override {
    answer(completion.code);
    if (completion.stat != nullptr) reply().child_count = completion.stat->numChildren;
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return request(wire, 0, [&](const void* data) {
      return zoo_aexists(wire.handle, op_.path.c_str(), 0, &RequestRegistry::on_stat, data);
    });
  }

  const request::CountChildren op_;
};

/// All levels are created at once, from the top; an existence check of the last one follows, since
/// a parent may allow no creating below it and yet have the child.
class CreateParentsCall final : public Call {
 public:
  CreateParentsCall(const std::string& chroot, const request::CreateParents& operation,
                    RequestId id, SessionId session, ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted), last_(full_path(chroot, operation.path)) {
    for (auto end = last_.find('/', chroot.size() + 1); end != std::string::npos;
         end = last_.find('/', end + 1)) {
      levels_.push_back(last_.substr(0, end));
    }
    if (operation.path != "/") levels_.push_back(last_);
    codes_.resize(levels_.size() + 1, ZOK);
    outstanding_ = codes_.size();
  }

  bool is_write(std::size_t part) const noexcept override { return part < levels_.size(); }

  bool complete(std::size_t part, const Completion& completion, const Wire& /*wire*/) override {
    codes_[part] = completion.code;
    if (--outstanding_ > 0) return false;
    answer(verdict());
    // Only the chroot is not ours to create; a level that was there a moment ago may be again.
    if (reply().status == Status::no_node && codes_.front() != ZNONODE) {
      refuse(Status::throttled, "a parent was deleted meanwhile");
    }
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    int first = ZOK;
    for (std::size_t part = 0; part < codes_.size(); ++part) {
      const int code = request(wire, part, [&](const void* data) {
        return part < levels_.size()
                   ? create(wire, levels_[part], data)
                   : zoo_aexists(wire.handle, last_.c_str(), 0, &RequestRegistry::on_stat, data);
      });
      if (part == 0) first = code;
      if (first != ZOK) return first;
      // What was sent is under way: the reply waits for it. This one has its result now.
      if (code != ZOK) {
        codes_[part] = code == ZINVALIDSTATE ? static_cast<int>(ZCONNECTIONLOSS) : code;
        --outstanding_;
      }
    }
    return ZOK;
  }

  static int create(const Wire& wire, const std::string& path, const void* data) {
    return zoo_acreate2(wire.handle, path.c_str(), "", 0, &wire.parent_acl.c_acl(), ZOO_CONTAINER,
                        &RequestRegistry::on_string_stat, data);
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
  std::vector<int> codes_;  // of the levels, and of the existence check
  std::size_t outstanding_ = 0;
};

class ListChildrenCall final : public Call {
 public:
  ListChildrenCall(request::ListChildren operation, RequestId id, SessionId session,
                   ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted), op_(std::move(operation)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(completion.code);
    if (reply().status == Status::no_node) wire.nodes.listed(op_.path, 0);
    if (reply().status != Status::ok || completion.strings == nullptr) return true;
    const String_vector& names = *completion.strings;
    wire.nodes.listed(op_.path, static_cast<std::size_t>(names.count));
    reply().children.assign(names.data, names.data + names.count);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return request(wire, 0, [&](const void* data) {
      return zoo_aget_children(wire.handle, op_.path.c_str(), 0, &RequestRegistry::on_strings,
                               data);
    });
  }

  const request::ListChildren op_;
};

/// Get, with or without a watch.
class GetCall final : public Call {
 public:
  GetCall(std::string path, WatchRegistry::OnEvent on_event, bool watch, RequestId id,
          SessionId session, ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted),
        path_(std::move(path)),
        on_event_(std::move(on_event)),
        watch_(watch) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }
  void forget_watch() noexcept override { watch_ = false; }

  bool complete(std::size_t part, const Completion& completion, const Wire& wire) override {
    // Whoever may not read the node can still see that it exists: that is never checked.
    if (watch_ && part == get && completion.code == ZNOAUTH) {
      reply().sent_at = LeaseClock::now();
      const int code = request(wire, exists, [&](const void* data) -> int {
        if (wire.handle == nullptr) return ZINVALIDSTATE;
        // Nothing is to be sent between a loss and the event that tells of it.
        if (zoo_state(wire.handle) != ZOO_CONNECTED_STATE) return ZCONNECTIONLOSS;
        return zoo_aexists(wire.handle, path_.c_str(), 1, &RequestRegistry::on_stat, data);
      });
      if (code == ZOK) return false;
      settle(part, code, wire);
      return true;
    }
    settle(part, completion.code, wire);
    if (reply().status != Status::ok) return true;
    if (completion.value != nullptr && completion.length > 0) {
      reply().data.assign(completion.value, static_cast<std::size_t>(completion.length));
    }
    if (completion.stat != nullptr) {
      reply().token = {completion.stat->czxid};
      reply().created_ms = completion.stat->ctime;
      reply().ephemeral_owner = {completion.stat->ephemeralOwner};
      reply().child_count = completion.stat->numChildren;
    }
    return true;
  }

 private:
  enum Part : std::size_t { get, exists };

  int issue(const Wire& wire) override {
    // A copy: what is not sent after all is sent again later.
    if (watch_ && !wire.watches.expect(id(), path_, on_event_)) {
      refuse(Status::too_many_watches, "the session's watches have reached max_watch_bytes");
      return kRefused;
    }
    const int code = request(wire, get, [&](const void* data) {
      return zoo_aget(wire.handle, path_.c_str(), watch_ ? 1 : 0, &RequestRegistry::on_data, data);
    });
    if (code != ZOK && watch_) (void)wire.watches.fail(id(), false);
    return code;
  }

  void settle(std::size_t part, int code, const Wire& wire) {
    answer(code);
    if (!watch_) return;
    // The servers keep a watch on a node that `exists` did not find. Of one that it did find they
    // tell only who may read the node, since 3.8.4 and 3.9.2 (CVE-2024-23944).
    wire.chores.ask_for_nodes = part == exists;
    const bool kept = part == exists && reply().status == Status::no_node;
    std::string remove = reply().status == Status::ok ? wire.watches.arm(id(), part == exists)
                                                      : wire.watches.fail(id(), kept);
    if (!remove.empty()) wire.chores.removals.push_back(std::move(remove));
  }

  const std::string path_;
  const WatchRegistry::OnEvent on_event_;
  bool watch_;
};

class DeleteCall final : public Call {
 public:
  DeleteCall(request::Delete operation, RequestId id, SessionId session, ReplyHandler handler,
             Instant submitted)
      : Call(id, session, std::move(handler), submitted), op_(std::move(operation)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return true; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(completion.code);
    if (reply().status == Status::ok) wire.nodes.deleted(op_.path);
    if (reply().status == Status::no_node) wire.nodes.missing(op_.path);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return request(wire, 0, [&](const void* data) {
      return zoo_adelete(wire.handle, op_.path.c_str(), -1, &RequestRegistry::on_void, data);
    });
  }

  const request::Delete op_;
};

/// A transaction on one node: Check, or AnnounceAndDelete. The C client reads the operations and
/// writes the results until the completion: they live in the call, which lives as long.
class TransactionCall final : public Call {
 public:
  TransactionCall(request::Check operation, RequestId id, SessionId session, ReplyHandler handler,
                  Instant submitted)
      : Call(id, session, std::move(handler), submitted), path_(std::move(operation.path)) {
    zoo_check_op_init(&operations_[0], path_.c_str(), -1);
    count_ = 1;
  }

  TransactionCall(request::AnnounceAndDelete operation, RequestId id, SessionId session,
                  ReplyHandler handler, Instant submitted)
      : Call(id, session, std::move(handler), submitted),
        path_(std::move(operation.path)),
        deletes_(true) {
    zoo_set_op_init(&operations_[0], path_.c_str(), core::released_data.data(),
                    static_cast<int>(core::released_data.size()), -1, nullptr);
    zoo_delete_op_init(&operations_[1], path_.c_str(), -1);
    count_ = 2;
  }

  bool is_write(std::size_t /*part*/) const noexcept override { return true; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(verdict(completion.code));
    if (reply().status == Status::ok && deletes_) wire.nodes.deleted(path_);
    if (reply().status == Status::no_node) wire.nodes.missing(path_);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    if (!is_valid_path(path_)) {  // zoo_amulti would free what it has not allocated
      refuse(Status::server_error, "not a usable path");
      return kRefused;
    }
    return request(wire, 0, [&](const void* data) {
      return zoo_amulti(wire.handle, static_cast<int>(count_), operations_.data(), results_.data(),
                        &RequestRegistry::on_void, data);
    });
  }

  // The operations around the one that failed have ZOK or ZRUNTIMEINCONSISTENCY.
  int verdict(int code) const {
    if (code == ZOK) return ZOK;
    for (std::size_t i = 0; i < count_; ++i) {
      const int error = results_[i].err;
      if (error != ZOK && error != ZRUNTIMEINCONSISTENCY) return error;
    }
    return code;
  }

  const std::string path_;
  const bool deletes_ = false;
  std::size_t count_ = 0;
  std::array<zoo_op_t, 2> operations_{};
  std::array<zoo_op_result_t, 2> results_{};
};

class WatchRemovalCall final : public Call {
 public:
  WatchRemovalCall(RequestId id, SessionId session, std::string path, Instant submitted)
      : Call(id, session, nullptr, submitted), path_(std::move(path)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(completion.code);
    // Still there, and set again at the next server.
    if (reply().status == Status::unknown) wire.chores.removals.push_back(path_);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    if (!wire.watches.may_remove(path_)) {
      refuse(Status::ok, {});
      return kRefused;
    }
    // Declared with one star too many: the function itself is wanted.
    auto* const on_void = reinterpret_cast<void_completion_t*>(&RequestRegistry::on_void);
    return request(wire, 0, [&](const void* data) {
      return zoo_aremove_all_watches(wire.handle, path_.c_str(), ZWATCHTYPE_DATA, 0, on_void, data);
    });
  }

  const std::string path_;
};

class PresenceCheckCall final : public Call {
 public:
  PresenceCheckCall(RequestId id, SessionId session, std::string path, Instant submitted)
      : Call(id, session, nullptr, submitted), path_(std::move(path)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(completion.code);
    if (reply().status == Status::no_node) wire.chores.departures.push_back(path_);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return request(wire, 0, [&](const void* data) {
      return zoo_aexists(wire.handle, path_.c_str(), 0, &RequestRegistry::on_stat, data);
    });
  }

  const std::string path_;
};

}  // namespace

std::shared_ptr<Call> make_presence_check(RequestId id, SessionId session, std::string path,
                                          Instant submitted) {
  return std::make_shared<PresenceCheckCall>(id, session, std::move(path), submitted);
}

std::shared_ptr<Call> make_call(const std::string& chroot, RequestId id, Request request,
                                ReplyHandler handler, Instant submitted) {
  const SessionId session = request.session;
  return std::visit(
      [&](auto&& op) -> std::shared_ptr<Call> {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, request::CreateContender>) {
          op.parent = full_path(chroot, op.parent);
        } else if constexpr (!std::is_same_v<Op, request::CreateParents>) {
          op.path = full_path(chroot, op.path);
        }
        if constexpr (std::is_same_v<Op, request::CreateContender>) {
          return std::make_shared<CreateContenderCall>(std::move(op), id, session,
                                                       std::move(handler), submitted);
        } else if constexpr (std::is_same_v<Op, request::CountChildren>) {
          return std::make_shared<CountChildrenCall>(std::move(op), id, session, std::move(handler),
                                                     submitted);
        } else if constexpr (std::is_same_v<Op, request::CreateParents>) {
          return std::make_shared<CreateParentsCall>(chroot, op, id, session, std::move(handler),
                                                     submitted);
        } else if constexpr (std::is_same_v<Op, request::ListChildren>) {
          return std::make_shared<ListChildrenCall>(std::move(op), id, session, std::move(handler),
                                                    submitted);
        } else if constexpr (std::is_same_v<Op, request::Get>) {
          return std::make_shared<GetCall>(std::move(op.path), nullptr, false, id, session,
                                           std::move(handler), submitted);
        } else if constexpr (std::is_same_v<Op, request::GetAndWatch>) {
          return std::make_shared<GetCall>(std::move(op.path), std::move(op.on_event), true, id,
                                           session, std::move(handler), submitted);
        } else if constexpr (std::is_same_v<Op, request::Delete>) {
          return std::make_shared<DeleteCall>(std::move(op), id, session, std::move(handler),
                                              submitted);
        } else {
          return std::make_shared<TransactionCall>(std::move(op), id, session, std::move(handler),
                                                   submitted);
        }
      },
      std::move(request.operation));
}

std::shared_ptr<Call> make_watch_removal(RequestId id, SessionId session, std::string path,
                                         Instant submitted) {
  return std::make_shared<WatchRemovalCall>(id, session, std::move(path), submitted);
}

}  // namespace zklock::client
