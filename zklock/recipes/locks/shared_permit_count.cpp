// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/locks/shared_permit_count.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/engine/blocking_requests.h"

namespace zklock::detail {

namespace {

using core::Status;
using core::StatusSort;
namespace write = client::request::write;

struct Count {
  std::int32_t number;
  std::int32_t version;
};

/// One call that reads or changes the permit count.
///
/// Thread-safety: none.
class PermitCountCall {
 public:
  PermitCountCall(PathLock& path_lock, const char* operation, const TimeLimit& limit)
      : path_lock_(path_lock),
        query_(path_lock.context(), path_lock.path(), operation, limit),
        node_(path_lock.path().child(core::kCountNode)) {}

  /// Returns the stored count, or nullopt if none is stored.
  std::optional<Count> read() {
    const client::Reply reply = request_until_final(query_, client::request::Get{node_});
    if (reply.status == Status::no_node) return std::nullopt;
    if (reply.status != Status::ok) query_.fail(reply);
    const auto number = core::parse_permit_count(reply.data);
    if (!number) query_.fail(Errc::bad_data, core::bad_permit_count(reply.data));
    return Count{*number, reply.version};
  }

  /// Outcome of one attempt to write the count.
  enum class Written { yes, no, unknown };

  Written set(std::int32_t number, std::int32_t version = -1) {
    return written(write::Set{.path = node_, .data = std::to_string(number), .version = version});
  }

  Written create(std::int32_t number) {
    for (;;) {
      bool no_parent = false;
      const Written done =
          written(write::Create{.path = node_, .data = std::to_string(number)}, &no_parent);
      if (!no_parent) return done;
      const client::Reply parents =
          request_until_final(query_, client::request::CreateParents{path_lock_.path().str()});
      if (parents.status == Status::no_node) query_.fail(Errc::no_chroot, parents.detail);
      if (parents.status != Status::ok) query_.fail(parents);
    }
  }

  [[noreturn]] void fail(Errc code, const std::string& cause = {}) { query_.fail(code, cause); }

 private:
  Written written(client::request::Write what, bool* no_node = nullptr) {
    auto replies = query_.try_run({client::request::Transaction{{}, {std::move(what)}}});
    if (!replies) {
      // While the client is disconnected, no request is outstanding: those that were sent have been
      // answered.
      const bool sent = may_have_been_executed_ || path_lock_.context().keeper().is_connected();
      if (sent) query_.fail(Errc::outcome_unknown);
      query_.fail_timed_out();
    }
    const client::Reply& reply = replies->front();
    if (no_node) *no_node = reply.status == Status::no_node;
    switch (core::sort_of(reply.status)) {
      case StatusSort::done: return Written::yes;
      case StatusSort::tree_conflict: return Written::no;
      case StatusSort::outcome_unknown:
      case StatusSort::session:
        may_have_been_executed_ = true;
        BlockingRequests::pause();
        return Written::unknown;
      case StatusSort::retry_later: BlockingRequests::pause(); return Written::no;
      case StatusSort::unsent:
      case StatusSort::client_ended:
      case StatusSort::refused: break;
    }
    query_.fail(reply);
  }

  PathLock& path_lock_;
  BlockingRequests query_;
  const std::string node_;
  bool may_have_been_executed_ = false;  ///< an earlier write
};

}  // namespace

std::int32_t read_permit_count(PathLock& path_lock, std::int32_t initial, const TimeLimit& limit) {
  const auto count = PermitCountCall(path_lock, "read the permits of", limit).read();
  return count ? count->number : initial;
}

// Writing the count twice has the effect of writing it once. So the write is repeated if its
// outcome is unknown.
void set_permit_count(PathLock& path_lock, std::int32_t count, const TimeLimit& limit) {
  PermitCountCall call(path_lock, "set the permits of", limit);
  for (;;) {
    if (call.set(count) == PermitCountCall::Written::yes) return;
    if (call.create(count) == PermitCountCall::Written::yes) return;
  }
}

std::int32_t add_to_permit_count(PathLock& path_lock, std::int32_t change, std::int32_t initial,
                                 const TimeLimit& limit) {
  PermitCountCall call(path_lock, "add permits to", limit);
  for (;;) {
    const auto count = call.read();
    const std::int32_t now = count ? count->number : initial;
    const std::int64_t sum = std::int64_t{now} + change;
    if (sum < 0 || sum > std::numeric_limits<std::int32_t>::max()) {
      call.fail(Errc::invalid_option, "the permit count is " + std::to_string(now) + "; adding " +
                                          std::to_string(change) +
                                          " leaves the range 0 to 2147483647");
    }
    const auto number = static_cast<std::int32_t>(sum);
    switch (count ? call.set(number, count->version) : call.create(number)) {
      case PermitCountCall::Written::yes: return number;
      case PermitCountCall::Written::no: break;  // another client was faster
      case PermitCountCall::Written::unknown: call.fail(Errc::outcome_unknown);
    }
  }
}

}  // namespace zklock::detail
