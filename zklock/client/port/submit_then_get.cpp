// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/submit_then_get.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "zklock/client/port/mutex.h"

namespace zklock::client {

namespace {

/// Collects both replies. If only one reply is from a server, they arrive on different threads, in
/// either order.
///
/// Thread-safety: all members, from any thread.
class Both {
 public:
  using Handler = std::function<void(const Reply&, const Reply&)>;
  explicit Both(Handler handler) : handler_(std::move(handler)) {}

  void first(const Reply& reply) { arrived(0, reply); }
  void node(const Reply& reply) { arrived(1, reply); }

 private:
  using Replies = std::array<std::optional<Reply>, 2>;

  void arrived(std::size_t which, const Reply& reply) {
    Replies both;
    {
      const MutexLock guard(mutex_);
      replies_[which] = reply;
      if (!replies_[0] || !replies_[1]) return;
      both.swap(replies_);
    }
    handler_(*both[0], *both[1]);
  }

  const Handler handler_;
  Mutex mutex_;
  Replies replies_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace

std::pair<RequestId, RequestId> submit_then_get(
    Coordinator& coordinator, Operation first, std::string path, SessionId session,
    std::function<void(const Reply&, const Reply&)> handler, Instant wanted_since) {
  const auto both = std::make_shared<Both>(std::move(handler));
  const RequestId id = coordinator.submit(
      {.operation = std::move(first), .session = session, .wanted_since = wanted_since},
      [both](const Reply& reply) { both->first(reply); });
  const RequestId id_of_get = coordinator.submit({.operation = request::Get{std::move(path)},
                                                  .session = session,
                                                  .wanted_since = wanted_since},
                                                 [both](const Reply& reply) { both->node(reply); });
  return {id, id_of_get};
}

void get_by_quorum(Coordinator& coordinator, std::string path, SessionId session,
                   ReplyHandler handler) {
  auto on_both = [&coordinator, path, session, handler = std::move(handler)](const Reply& check,
                                                                             const Reply& node) {
    const Reply& reply = check.status == Status::ok ? node : check;
    if (reply.status != Status::no_auth) return handler(reply);
    // The quorum has answered the Check, although it was refused.
    coordinator.submit({.operation = request::CountChildren{path}, .session = session},
                       [handler](Reply stat) {
                         stat.unreadable = true;
                         handler(stat);
                       });
  };
  submit_then_get(coordinator, request::Check{path}, path, session, std::move(on_both));
}

}  // namespace zklock::client
