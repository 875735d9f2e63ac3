// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/submit_then_get.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

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
  void arrived(std::optional<Reply>& which, const Reply& reply) {
    {
      const std::lock_guard guard(mutex_);
      which = reply;
      if (!first_ || !node_) return;
    }
    handler_(*first_, *node_);  // constant from here on
  }

  const Handler handler_;
  std::mutex mutex_;
  // Guarded by mutex_ until both have a value:
  std::optional<Reply> first_;
  std::optional<Reply> node_;
};

}  // namespace

void submit_then_get(Coordinator& coordinator, Operation first, std::string path, SessionId session,
                     std::function<void(const Reply&, const Reply&)> handler) {
  const auto both = std::make_shared<Both>(std::move(handler));
  coordinator.submit({.operation = std::move(first), .session = session},
                     [both](const Reply& reply) { both->first(reply); });
  coordinator.submit({.operation = request::Get{std::move(path)}, .session = session},
                     [both](const Reply& reply) { both->node(reply); });
}

}  // namespace zklock::client
