// SPDX-License-Identifier: Apache-2.0
// The calls that send a multi.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/client/port/request.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/client/zookeeper/call.h"
#include "zklock/core/znode_data.h"

namespace zklock::client {
namespace {

/// For such a path, zoo_amulti would free memory that it has not allocated.
constexpr const char* kUnusablePath = "not a usable path";

/// Returns the index of the operation that failed, or the count of operations. Operations before
/// the failed one have ZOK, those after it ZRUNTIMEINCONSISTENCY. All have ZOK if no server has
/// executed the transaction.
std::size_t first_failed(std::span<const zoo_op_result_t> results) {
  const auto failed = std::ranges::find_if(results, [](const zoo_op_result_t& result) {
    return result.err != ZOK && result.err != ZRUNTIMEINCONSISTENCY;
  });
  return static_cast<std::size_t>(failed - results.begin());
}

/// Sets the status of the reply, and failed_operation if an operation has failed. `needed` returns
/// the Permission for the operation with that index.
template <typename Needed>
void set_multi_status(std::span<const zoo_op_result_t> results, const Completion& completion,
                      const CallContext& context, Needed&& needed) {
  const std::size_t failed = first_failed(results);
  if (completion.code == ZOK || failed == results.size()) {
    return Call::set_status(context, completion.code);
  }
  Call::set_status(context, results[failed].err, needed(failed));
  context.reply.failed_operation = static_cast<int>(failed);
}

/// Does what the transaction as_transaction() does, with fewer allocations: most calls of unlock()
/// send it. The C client reads the operations and writes the results until the completion. So both
/// are members of a call, which exists until then.
class AnnounceAndDeleteCall final : public Call {
 public:
  AnnounceAndDeleteCall(std::string path, CallHeader header)
      : Call(std::move(header)), path_(std::move(path)) {}

  int issue(const CallContext& context) override {
    if (!is_valid_path(path_)) return refuse(context, Status::server_error, kUnusablePath);
    constexpr std::string_view kData = core::kReleasedData;
    zoo_set_op_init(&operations_[0], path_.c_str(), kData.data(), static_cast<int>(kData.size()),
                    -1, nullptr);
    zoo_delete_op_init(&operations_[1], path_.c_str(), -1);
    const void* const data = add_pending(context, RequestKind::multi);
    return drop_if_unsent(
        context, zoo_amulti(context.handle, static_cast<int>(operations_.size()),
                            operations_.data(), results_.data(), &HandleCallbacks::on_void, data));
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_multi_status(results_, completion, context, [this](std::size_t operation) {
      return operation == 0 ? Permission{"WRITE", path_} : Permission{"DELETE", parent_of(path_)};
    });
    switch (context.reply.status) {
      case Status::ok: context.nodes.deleted(path_); break;
      case Status::no_node: context.nodes.missing(path_); break;
      case Status::unknown: context.nodes.maybe_deleted(path_); break;
      default: break;
    }
    return true;
  }

 private:
  const std::string path_;
  std::array<zoo_op_t, 2> operations_{};
  std::array<zoo_op_result_t, 2> results_{};
};

class TransactionCall final : public Call {
 public:
  TransactionCall(request::Transaction operation, CallHeader header)
      : Call(std::move(header)), op_(std::move(operation)) {}

  int issue(const CallContext& context) override {
    if (results_.empty()) {
      const char* const fault = prepare(context);
      if (fault != nullptr) return refuse(context, Status::server_error, fault);
    }
    if (!context.nodes.reserve(op_.writes)) return refuse_node(context);
    const void* const data = add_pending(context, RequestKind::multi);
    const int code = drop_if_unsent(
        context, zoo_amulti(context.handle, static_cast<int>(operations_.size()),
                            operations_.data(), results_.data(), &HandleCallbacks::on_void, data));
    if (code != ZOK) context.nodes.failed(op_.writes);
    return code;
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_multi_status(results_, completion, context,
                     [this](std::size_t operation) { return needed(operation); });
    Reply& reply = context.reply;
    if (reply.status == Status::ok && !made_.empty()) reply.name = name_of(made_.data());
    if (reply.failed_operation >= 0 && reply.status == Status::no_node) {
      context.nodes.missing(path(static_cast<std::size_t>(reply.failed_operation)));
    }
    context.nodes.on_reply(op_.writes, reply);
    return true;
  }

 private:
  // Fills operations_ and results_. Returns the fault of the transaction, or null.
  const char* prepare(const CallContext& context) {
    const std::size_t count = guards() + op_.writes.size();
    if (count == 0) return "an empty transaction";
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_valid_path(path(i))) return kUnusablePath;
    }
    operations_.reserve(count);
    if (guards() > 0) zoo_check_op_init(&operations_.emplace_back(), op_.guard.c_str(), -1);
    for (const request::Write& write : op_.writes) {
      zoo_op_t& operation = operations_.emplace_back();
      std::visit([&](const auto& w) { fill(operation, w, context); }, write);
    }
    results_.resize(count);
    return nullptr;
  }

  std::size_t guards() const noexcept { return op_.guard.empty() ? 0 : 1; }
  /// Returns the path of the operation with that index.
  const std::string& path(std::size_t operation) const {
    return operation < guards() ? op_.guard : path_of(op_.writes[operation - guards()]);
  }

  /// Returns the permission that the operation with that index needs.
  Permission needed(std::size_t operation) const {
    if (operation < guards()) return {"READ", op_.guard};
    struct Needed {
      Permission operator()(const request::write::Create& w) {
        return {"CREATE", parent_of(w.path)};
      }
      Permission operator()(const request::write::Set& w) { return {"WRITE", w.path}; }
      Permission operator()(const request::write::Remove& w) {
        return {"DELETE", parent_of(w.path)};
      }
      Permission operator()(const request::write::CheckVersion& w) { return {"READ", w.path}; }
    };
    return std::visit(Needed(), op_.writes[operation - guards()]);
  }

  void fill(zoo_op_t& operation, const request::write::Create& w, const CallContext& context) {
    if (w.sequential) made_.resize(w.path.size() + sizeof "-2147483648");
    zoo_create_op_init(&operation, w.path.c_str(), w.data.data(), static_cast<int>(w.data.size()),
                       &(w.lock_acl ? context.node_acl : context.parent_acl).c_acl(),
                       (w.ephemeral ? ZOO_EPHEMERAL : 0) | (w.sequential ? ZOO_SEQUENCE : 0),
                       w.sequential ? made_.data() : nullptr,
                       w.sequential ? static_cast<int>(made_.size()) : 0);
  }
  static void fill(zoo_op_t& operation, const request::write::Set& w,
                   const CallContext& /*context*/) {
    zoo_set_op_init(&operation, w.path.c_str(), w.data.data(), static_cast<int>(w.data.size()),
                    w.version, nullptr);
  }
  static void fill(zoo_op_t& operation, const request::write::Remove& w,
                   const CallContext& /*context*/) {
    zoo_delete_op_init(&operation, w.path.c_str(), w.version);
  }
  static void fill(zoo_op_t& operation, const request::write::CheckVersion& w,
                   const CallContext& /*context*/) {
    zoo_check_op_init(&operation, w.path.c_str(), w.version);
  }

  const request::Transaction op_;
  std::vector<zoo_op_t> operations_;
  std::vector<char> made_;  // path of the sequential create; empty if there is none
  std::vector<zoo_op_result_t> results_;
};

}  // namespace

std::shared_ptr<Call> make_announce(std::string path, CallHeader header) {
  return std::make_shared<AnnounceAndDeleteCall>(std::move(path), std::move(header));
}

std::shared_ptr<Call> make_transaction(request::Transaction operation, CallHeader header) {
  return std::make_shared<TransactionCall>(std::move(operation), std::move(header));
}

}  // namespace zklock::client
