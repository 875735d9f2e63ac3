// SPDX-License-Identifier: Apache-2.0
#include "zklock/release_request.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "zklock/core/child_nodes.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/blocking_requests.h"
#include "zklock/engine/callback/blocking_call.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock {

namespace {

using core::Status;
using core::StatusSort;
namespace request = client::request;

constexpr const char* kOperation = "request the release of";
/// Interval at which a call makes sure that its request znode exists. The session of the znode may
/// end. If another call created the znode, that call may delete it.
constexpr std::chrono::seconds kMostBetweenRounds{1};
constexpr std::chrono::milliseconds kLeastBetweenRounds{50};

/// One call of request_release(). Its request znode is deleted when the call ends.
///
/// Thread-safety: none. Its callbacks run on any thread.
class ReleaseRequest {
 public:
  ReleaseRequest(std::shared_ptr<detail::PathLock> path_lock, const core::ZnodeName& target,
                 bool force)
      : path_lock_(std::move(path_lock)),
        target_(target),
        node_(path_lock_->child(target.text)),
        request_node_(path_lock_->child(core::release_request_node(target.sequence))),
        force_(force) {}
  ReleaseRequest(const ReleaseRequest&) = delete;
  ReleaseRequest& operator=(const ReleaseRequest&) = delete;
  // A create without a reply may still be executed. The delete follows it on its session, so the
  // servers execute the delete later. It looks first, because the znode may belong to another
  // client.
  ~ReleaseRequest() {
    if (!may_have_created_) return;
    detail::EngineContext& context = path_lock_->context();
    const detail::EngineLock lock(context.entry());
    const core::SessionId session = context.keeper().session();
    context.cleaner().remove(
        session, {.path = request_node_},
        created_in_ == session ? detail::Cleaner::Step::deleting : detail::Cleaner::Step::looking);
  }

  enum class Presence { deleted, existing, unknown };

  /// Called when the contender's znode is deleted. If it was a writer's, the writer may have
  /// downgraded, and hold as a reader under another name. In that case selects that name and
  /// returns true.
  bool follow_downgrade() {
    auto reader = target_.as_reader();
    if (!reader) return false;
    target_ = *std::move(reader);
    node_ = path_lock_->child(target_.text);
    return true;
  }

  /// Creates the request znode if it is missing and the contender's znode exists. With `force`,
  /// also changes the data of an existing request znode. Returns whether the contender's znode is
  /// there, if known. Throws Error.
  Presence put(const detail::TimeLimit& limit) {
    detail::BlockingRequests requests(path_lock_->context(), path_lock_->path(), kOperation, limit);
    const auto data = std::string(force_ ? core::kReleaseRequestForces : core::kReleaseRequestAsks);
    const bool has_created = std::exchange(may_have_created_, true);  // until the reply
    const client::Reply reply = requests.run(
        guarded(request::write::Create{.path = request_node_, .data = data, .ephemeral = true}));
    if (reply.status == Status::ok) created_in_ = reply.session;
    may_have_created_ =
        has_created || reply.status == Status::ok || reply.status == Status::unknown;
    if (reply.status != Status::node_exists || !force_) return outcome(requests, reply);
    return outcome(requests,
                   requests.run(guarded(request::write::Set{.path = request_node_, .data = data})));
  }

  /// Blocks until the contender's znode is deleted, but not longer than `longest` or `limit`.
  Presence wait(const detail::TimeLimit& limit, core::Duration longest) {
    const auto woken = std::make_shared<detail::BlockingCall<Presence>>();
    request::ExistsAndWatch watch{
        .path = node_, .on_event = [woken](core::SessionId, request::WatchEvent event) {
          // NODE_DATA_CHANGED announces a release: the next round finds the znode deleted.
          woken->set(event == request::WatchEvent::deleted ? Presence::deleted
                                                           : Presence::existing);
        }};
    detail::EngineContext& context = path_lock_->context();
    const auto id = context.coordinator().submit({.operation = std::move(watch)},
                                                 [woken](const client::Reply& reply) {
                                                   if (reply.status == Status::no_node)
                                                     woken->set(Presence::deleted);
                                                 });
    struct Cleanup {
      detail::EngineContext& context;
      client::RequestId id;
      ~Cleanup() {
        context.coordinator().cancel_unsent(id);
        context.coordinator().unwatch(id);
      }
    } const cleanup{context, id};
    const core::Instant now = context.scheduler().now();
    if (!limit.may_wait(now)) return Presence::existing;
    const auto until = std::min(limit.deadline(), Deadline::after(now, longest));
    // Not with a timer of the client: a closed client has none.
    const auto most = std::chrono::ceil<std::chrono::milliseconds>(until.at() - now);
    return woken->wait_until(most).value_or(Presence::existing);
  }

 private:
  /// Returns a transaction that fails if the contender's znode does not exist.
  request::Transaction guarded(request::Write write) const { return {node_, {std::move(write)}}; }

  static Presence outcome(const detail::BlockingRequests& requests, const client::Reply& reply) {
    switch (core::sort_of(reply.status)) {
      case StatusSort::done: return Presence::existing;
      case StatusSort::outcome_unknown:
      case StatusSort::session:
      case StatusSort::retry_later: return Presence::unknown;
      case StatusSort::tree_conflict:
        if (reply.status == Status::node_exists) return Presence::existing;
        if (reply.status != Status::no_node) break;
        return reply.failed_operation == 0 ? Presence::deleted : Presence::unknown;
      case StatusSort::unsent:
      case StatusSort::client_ended:
      case StatusSort::refused: break;
    }
    requests.fail(reply);
  }

  const std::shared_ptr<detail::PathLock> path_lock_;
  core::ZnodeName target_;
  std::string node_;
  const std::string request_node_;
  const bool force_;
  bool may_have_created_ = false;  ///< a create may have been executed
  core::SessionId created_in_{};   ///< session of the last confirmed create
};

/// Returns the contender that the request is for, or nullopt if none queues for the lock.
std::optional<core::ZnodeName> find_target(const std::shared_ptr<detail::PathLock>& path_lock,
                                           const ReleaseRequestOptions& options,
                                           const detail::TimeLimit& limit) {
  if (options.node) {
    auto named = core::ZnodeName::parse(*options.node);
    if (named) return named;
    throw Error(Errc::invalid_option, kOperation, path_lock->path().str(),
                "no contender has the znode \"" + core::printable(*options.node, 128) + "\"");
  }
  const auto queue = detail::read_queue(path_lock, limit);
  if (queue.empty()) return std::nullopt;
  constexpr std::int32_t kAsTheNamesSay = 0;
  const auto holders = core::holders(queue, kAsTheNamesSay);
  if (!holders.empty()) return holders.front();
  // If the first contender is at a gate, all of them are.
  const bool at_gate = core::parse_znode_name(queue.front().text)->access == Access::weighted;
  return at_gate ? std::nullopt : std::optional(queue.front());
}

bool request_and_wait(const std::shared_ptr<detail::PathLock>& path_lock,
                      const ReleaseRequestOptions& options, const detail::TimeLimit& limit) {
  const auto target = find_target(path_lock, options, limit);
  if (!target) return true;
  detail::EngineContext& context = path_lock->context();
  ReleaseRequest call(path_lock, *target, options.force);
  // The rounds of a single attempt share the time of one round.
  const detail::TimeLimit of_round =
      limit.waits() ? limit
                    : detail::TimeLimit(detail::round_trip_deadline(context, limit),
                                        context.scheduler().now());
  for (;;) {
    // After the deadline there may be one more round, for a writer that downgraded. It does not
    // wait.
    auto outcome = call.put(of_round);
    if (outcome != ReleaseRequest::Presence::deleted) {
      const core::Duration longest = outcome == ReleaseRequest::Presence::existing
                                         ? core::Duration(kMostBetweenRounds)
                                         : core::Duration(kLeastBetweenRounds);
      outcome = call.wait(limit, longest);
    }
    if (outcome == ReleaseRequest::Presence::deleted) {
      if (!call.follow_downgrade()) return true;
    } else if (!limit.may_wait(context.scheduler().now())) {
      return false;
    }
  }
}

}  // namespace

bool request_release(Client& client, std::string path, ReleaseRequestOptions options) {
  const auto& core = detail::ClientCore::of(client);
  const auto path_lock = core->usable_path_lock(kOperation, std::move(path));
  const detail::TimeLimit limit(options.deadline, core->scheduler().now());
  try {
    return request_and_wait(path_lock, options, limit);
  } catch (const Error& error) {
    const bool late = limit.deadline().has_passed(core->scheduler().now());
    if (error.errc() == Errc::not_connected && late) return false;
    throw;
  }
}

}  // namespace zklock
