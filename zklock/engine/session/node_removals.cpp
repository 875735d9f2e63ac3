// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/node_removals.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace zklock::detail {

namespace {

std::string no_permission(const std::string& node, const std::string& parent) {
  return "the ACL of " + parent + " does not permit this client to delete its znode " + node +
         "; give this client DELETE on " + parent + ", or close the client";
}

}  // namespace

/// A znode that is being deleted.
class NodeRemovals::Removal final : public NodeDeleter::Removal,
                                    public std::enable_shared_from_this<Removal> {
 public:
  Removal(NodeRemovals& removals, SessionId session, NodeDeleter::Node node,
          NodeDeleter::Manner manner, std::function<void()> gone)
      : NodeDeleter::Removal(removals.node_deleter_, session, std::move(node), manner),
        removals_(removals),
        host_(removals.host_.weak_host()),
        gone_(std::move(gone)) {}

  std::string_view parent() const { return std::string_view(path).substr(0, path.rfind('/')); }

  BackgroundWork::Id work{};
  // Guarded by mutex_:
  std::string path;  ///< set at the first refusal
  bool is_refused = false;

 private:
  void ended(NodeDeleter::End end) override {
    if (gone_ && end == NodeDeleter::End::gone) gone_();
    const auto alive = host_.lock();
    if (!alive) return;
    end == NodeDeleter::End::refused ? removals_.refused(shared_from_this())
                                     : removals_.removed(shared_from_this());
  }

  NodeRemovals& removals_;  ///< exists while the host does
  const std::weak_ptr<void> host_;
  const std::function<void()> gone_;
};

NodeRemovals::NodeRemovals(client::Coordinator& coordinator, client::Scheduler& scheduler,
                           Host& host)
    : host_(host),
      node_deleter_(coordinator, scheduler, [&host](const std::string& path, core::Status why) {
        host.warn("delete " + path + ": the servers refused (" + std::string(to_string(why)) +
                  "); delete this znode by hand, or give this client DELETE on its parent");
      }) {}

void NodeRemovals::begin(SessionId session, NodeDeleter::Node node, NodeDeleter::Manner manner,
                         std::function<void()> gone, BackgroundWork::Id work) {
  if (host_.closed()) return;
  const auto removal =
      std::make_shared<Removal>(*this, session, std::move(node), manner, std::move(gone));
  removal->work = host_.work().begin(work);
  try {
    NodeDeleter::submit(removal);
  } catch (...) {  // no memory: flush() must not wait for it
    host_.work().end(removal->work);
    throw;
  }
}

void NodeRemovals::removed(const std::shared_ptr<Removal>& removal) {
  if (has_refused_) {
    const client::MutexLock guard(mutex_);
    assert(!removal->is_refused);
    std::erase(refused_, removal);
    has_refused_ = !refused_.empty();
  }
  host_.work().end(removal->work);
}

void NodeRemovals::refused(const std::shared_ptr<Removal>& removal) {
  bool is_first = false;
  {
    client::MutexLock lock(mutex_);
    if (!host_.is_current(removal->session())) {
      lock.unlock();
      return removed(removal);
    }
    assert(!removal->is_refused && has_refused_ == !refused_.empty());
    if (std::ranges::find(refused_, removal) == refused_.end()) {
      removal->path = removal->node().path;
      is_first = std::ranges::find(refused_, removal->parent(),
                                   [](const auto& r) { return r->parent(); }) == refused_.end();
      refused_.push_back(removal);
      has_refused_ = true;
    }
    removal->is_refused = true;
    host_.work().stall(removal->work);
  }
  if (!is_first) return;
  const std::string parent(removal->parent());
  host_.removal_refused(parent, removal->path, no_permission(removal->path, parent));
}

std::shared_ptr<NodeRemovals::Removal> NodeRemovals::retry(std::string_view parent) {
  std::shared_ptr<Removal> last;
  const client::MutexLock guard(mutex_);
  for (const auto& removal : refused_) {
    if (!parent.empty() && removal->parent() != parent) continue;
    last = removal;
    if (!removal->is_refused) continue;
    removal->begin_again();
    NodeDeleter::submit(removal);  // the reply awaits the mutex
    removal->is_refused = false;
    host_.work().resume(removal->work);
  }
  return last;
}

std::optional<Error> NodeRemovals::retry(const core::LockPath& path) {
  if (!has_refused_) return std::nullopt;
  const auto removal = retry(path.str());
  if (!removal) return std::nullopt;
  return Error(Errc::no_auth, "lock", path.str(), no_permission(removal->path, path.str()));
}

void NodeRemovals::retry_all() {
  if (has_refused_) retry(std::string_view());
}

// A delete that is under way again is not ended here, but by its own reply: see refused().
void NodeRemovals::session_ended(SessionId session) noexcept {
  const client::MutexLock guard(mutex_);
  std::erase_if(refused_, [&](const auto& removal) {
    if (removal->session() != session || !removal->is_refused) return false;
    host_.work().resume(removal->work);
    host_.work().end(removal->work);
    return true;
  });
  has_refused_ = !refused_.empty();
}

}  // namespace zklock::detail
