// SPDX-License-Identifier: Apache-2.0
// The calls that send a multi.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/client/port/znode_path.h"
#include "zklock/client/zookeeper/make_call.h"
#include "zklock/client/zookeeper/zk_error.h"
#include "zklock/core/znode_data.h"

namespace zklock::client {
namespace {

/// A multi. The C client reads the operations and writes the results until the completion. So both
/// are members of the call, which exists until then.
class MultiCall : public Call {
 public:
  using Call::Call;
  AnsweredBy answered_by(std::size_t /*sub_request*/) const noexcept final {
    return AnsweredBy::quorum;
  }
  bool is_multi() const noexcept final { return true; }

 protected:
  /// For such a path, zoo_amulti would free memory that it has not allocated.
  static constexpr const char* kUnusablePath = "not a usable path";

  /// Sets the status of the reply, and failed_operation if an operation has failed. `needed`
  /// returns the Permission for the operation with that index.
  template <typename Needed>
  static void set_multi_status(std::span<const zoo_op_result_t> results,
                               const Completion& completion, const CallContext& context,
                               Needed&& needed) {
    const std::size_t failed = first_failed(results);
    if (completion.code == ZOK || failed == results.size()) {
      return set_status(context, completion.code);
    }
    set_status(context, results[failed].err, needed(failed));
    context.reply.failed_operation = static_cast<int>(failed);
  }

 private:
  // Returns the index of the operation that failed, or the count of operations. Operations before
  // the failed one have ZOK, those after it ZRUNTIMEINCONSISTENCY. All have ZOK if no server has
  // executed the transaction.
  static std::size_t first_failed(std::span<const zoo_op_result_t> results) {
    std::size_t i = 0;
    for (; i < results.size(); ++i) {
      if (results[i].err != ZOK && results[i].err != ZRUNTIMEINCONSISTENCY) break;
    }
    return i;
  }
};

class AnnounceAndDeleteCall final : public MultiCall {
 public:
  AnnounceAndDeleteCall(request::AnnounceAndDelete operation, CallHeader header)
      : MultiCall(std::move(header)), op_(std::move(operation)) {}

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_multi_status(results_, completion, context, [this](std::size_t operation) {
      return operation == 0 ? Permission{"WRITE", op_.path}
                            : Permission{"DELETE", parent_of(op_.path)};
    });
    switch (context.reply.status) {
      case Status::ok: context.nodes.deleted(op_.path); break;
      case Status::no_node: context.nodes.missing(op_.path); break;
      case Status::unknown: context.nodes.maybe_deleted(op_.path); break;
      default: break;
    }
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    if (!is_valid_path(op_.path)) return refuse(context, Status::server_error, kUnusablePath);
    constexpr std::string_view kData = core::kReleasedData;
    zoo_set_op_init(&operations_[0], op_.path.c_str(), kData.data(), static_cast<int>(kData.size()),
                    -1, nullptr);
    zoo_delete_op_init(&operations_[1], op_.path.c_str(), -1);
    OutgoingRequest outgoing(*this, context);
    return outgoing.sent(zoo_amulti(context.handle, static_cast<int>(operations_.size()),
                                    operations_.data(), results_.data(), &CompletionSink::on_void,
                                    outgoing.data()));
  }

  const request::AnnounceAndDelete op_;
  std::array<zoo_op_t, 2> operations_{};
  std::array<zoo_op_result_t, 2> results_{};
};

class TransactionCall final : public MultiCall {
 public:
  TransactionCall(request::Transaction operation, CallHeader header)
      : MultiCall(std::move(header)), op_(std::move(operation)) {}

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_multi_status(results_, completion, context,
                     [this](std::size_t operation) { return needed(operation); });
    const int failed = context.reply.failed_operation;
    if (failed >= 0 && context.reply.status == Status::no_node)
      context.nodes.missing(path(static_cast<std::size_t>(failed)));
    if (context.reply.status == Status::ok && !made_.empty())
      context.reply.name = name_of(made_.data());
    for (const request::Write& write : op_.writes) note_outcome(write, context);
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    if (results_.empty()) {
      const char* const fault = prepare(context);
      if (fault != nullptr) return refuse(context, Status::server_error, fault);
    }
    OutgoingRequest outgoing(*this, context);
    if (!reserve(context)) return refuse_node(context);
    const int code = outgoing.sent(zoo_amulti(context.handle, static_cast<int>(operations_.size()),
                                              operations_.data(), results_.data(),
                                              &CompletionSink::on_void, outgoing.data()));
    if (code != ZOK) release_bytes(context, op_.writes.size());
    return code;
  }

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
    struct Name {
      std::string_view operator()(const request::write::Create&) const { return "CREATE"; }
      std::string_view operator()(const request::write::Set&) const { return "WRITE"; }
      std::string_view operator()(const request::write::Remove&) const { return "DELETE"; }
      std::string_view operator()(const request::write::CheckVersion&) const { return "READ"; }
    };
    if (operation < guards()) return {"READ", op_.guard};
    const request::Write& write = op_.writes[operation - guards()];
    const bool of_parent =
        is_removal(write) || std::holds_alternative<request::write::Create>(write);
    const std::string& path = path_of(write);
    return {std::visit(Name(), write), of_parent ? parent_of(path) : std::string_view(path)};
  }

  void fill(zoo_op_t& operation, const request::write::Create& w, const CallContext& context) {
    if (w.sequential) made_.resize(w.path.size() + sizeof "-2147483648");
    zoo_create_op_init(&operation, w.path.c_str(), w.data.data(), static_cast<int>(w.data.size()),
                       &(w.contender ? context.node_acl : context.parent_acl).c_acl(),
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

  // The count of the session's ephemeral znodes (NodeBudget).

  // Reserves the bytes of all creates, or none: even if bytes_of() throws.
  bool reserve(const CallContext& context) {
    // The bytes of the znodes that this transaction deletes are free for its creates. So are the
    // bytes that still count for an earlier create of an equal path, after a lost reply.
    std::size_t freed = 0;
    for (const request::Write& write : op_.writes) {
      const auto* const create = as_ephemeral(write);
      const bool by_name = create != nullptr && !create->sequential;
      if (is_removal(write) || by_name) freed += context.nodes.bytes_of(path_of(write));
    }
    for (std::size_t i = 0; i < op_.writes.size(); ++i) {
      const auto* const create = as_ephemeral(op_.writes[i]);
      if (create == nullptr) continue;
      if (!context.nodes.reserve(parent_of(create->path), name_of(create->path), freed,
                                 create->is_optional)) {
        release_bytes(context, i);
        return false;
      }
    }
    return true;
  }

  void release_bytes(const CallContext& context, std::size_t writes) noexcept {
    for (std::size_t i = 0; i < writes; ++i) {
      const auto* const create = as_ephemeral(op_.writes[i]);
      if (create != nullptr) context.nodes.failed(parent_of(create->path), name_of(create->path));
    }
  }

  void note_outcome(const request::Write& write, const CallContext& context) {
    const Status status = context.reply.status;
    if (const auto* const create = as_ephemeral(write)) {
      const auto parent = parent_of(create->path);
      const auto name = name_of(create->path);
      if (status == Status::ok) {
        context.nodes.created(join(parent, create->sequential ? context.reply.name : name), name);
      } else if (status == Status::unknown) {
        context.nodes.unknown(parent, name);
      } else {
        context.nodes.failed(parent, name);
      }
    } else if (is_removal(write) && status == Status::ok) {
      context.nodes.deleted(path_of(write));
    } else if (is_removal(write) && status == Status::unknown) {
      context.nodes.maybe_deleted(path_of(write));
    }
  }

  static bool is_removal(const request::Write& write) {
    return std::holds_alternative<request::write::Remove>(write);
  }

  static const request::write::Create* as_ephemeral(const request::Write& write) {
    const auto* const create = std::get_if<request::write::Create>(&write);
    return create != nullptr && create->ephemeral ? create : nullptr;
  }

  const request::Transaction op_;
  std::vector<zoo_op_t> operations_;
  std::vector<char> made_;  // path of the sequential create; empty if there is none
  std::vector<zoo_op_result_t> results_;
};

}  // namespace

std::shared_ptr<Call> make(request::AnnounceAndDelete operation, CallHeader header) {
  return std::make_shared<AnnounceAndDeleteCall>(std::move(operation), std::move(header));
}

std::shared_ptr<Call> make(request::Transaction operation, CallHeader header) {
  return std::make_shared<TransactionCall>(std::move(operation), std::move(header));
}

}  // namespace zklock::client
