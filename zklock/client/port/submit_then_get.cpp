// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/submit_then_get.h"

#include <atomic>
#include <memory>

#include "zklock/client/port/znode_path.h"

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

  void first(const Reply& reply) { arrived(first_, reply); }
  void node(const Reply& reply) { arrived(node_, reply); }

 private:
  void arrived(Reply& mine, const Reply& reply) {
    mine = reply;
    if (--missing_ == 0) handler_(first_, node_);
  }

  const Handler handler_;
  Reply first_;
  Reply node_;
  std::atomic<int> missing_{2};
};

/// An exists of the path was refused. So the znode exists, and the stat of its parent can show
/// which znode it is.
void get_parent_of_refused(Coordinator& coordinator, const std::string& path, SessionId session,
                           const ReplyHandler& handler) {
  coordinator.submit(
      {.operation = request::Exists{std::string(parent_of(path))}, .session = session},
      [handler](const Reply& parent) {
        if (parent.status != Status::ok) return handler(parent);
        Reply node;
        node.status = Status::ok;
        node.session = parent.session;
        node.sent_at = parent.sent_at;
        node.unreadable = true;
        node.parent = std::make_shared<const Reply>(parent);
        handler(std::move(node));
      });
}

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
    coordinator.submit({.operation = request::Exists{path}, .session = session},
                       [&coordinator, path, session, handler](Reply stat) {
                         if (stat.status == Status::no_auth) {
                           return get_parent_of_refused(coordinator, path, session, handler);
                         }
                         stat.unreadable = true;
                         handler(stat);
                       });
  };
  submit_then_get(coordinator, request::Check{path}, path, session, std::move(on_both));
}

}  // namespace zklock::client
