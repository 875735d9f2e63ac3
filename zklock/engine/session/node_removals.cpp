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

NodeRemovals::NodeRemovals(client::Coordinator& coordinator, client::Scheduler& scheduler,
                           Host& host)
    : host_(host),
      node_deleter_(coordinator, scheduler, [&host](const std::string& path, core::Status why) {
        host.warn("delete " + path + ": the servers refused (" + std::string(to_string(why)) +
                  "); delete this znode by hand, or give this client DELETE on its parent");
      }) {}

void NodeRemovals::begin(SessionId session, NodeDeleter::Node node, NodeDeleter::Manner manner,
                         std::function<void()> gone, BackgroundWork::Id work) {
  const auto removal = std::make_shared<Removal>(
      Removal{.session = session, .node = {}, .work = {}, .gone = std::move(gone)});
  removal->work = host_.work().begin(work);
  try {
    send(removal, std::move(node), manner);
  } catch (...) {  // no memory: flush() must not wait for it
    host_.work().end(removal->work);
    throw;
  }
}

void NodeRemovals::send(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node,
                        NodeDeleter::Manner manner) {
  node_deleter_.remove(
      removal->session, std::move(node), manner,
      [this, self = host_.weak_host(), removal](NodeDeleter::End end, NodeDeleter::Node left) {
        if (removal->gone && end == NodeDeleter::End::gone) removal->gone();
        const auto alive = self.lock();
        if (!alive) return;
        if (end == NodeDeleter::End::refused) return refused(removal, std::move(left));
        removed(removal);
      });
}

void NodeRemovals::removed(const std::shared_ptr<Removal>& removal) {
  if (has_refused_) {
    const client::MutexLock guard(mutex_);
    assert(!removal->refused);
    std::erase(refused_, removal);
    has_refused_ = !refused_.empty();
  }
  host_.work().end(removal->work);
}

void NodeRemovals::refused(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node) {
  bool is_first = false;
  {
    client::MutexLock lock(mutex_);
    if (!host_.is_current(removal->session)) {
      lock.unlock();
      return removed(removal);
    }
    assert(!removal->refused && has_refused_ == !refused_.empty());
    if (std::ranges::find(refused_, removal) == refused_.end()) {
      removal->node = std::move(node);
      is_first = std::ranges::find(refused_, removal->parent(),
                                   [](const auto& r) { return r->parent(); }) == refused_.end();
      refused_.push_back(removal);
      has_refused_ = true;
    }
    removal->refused = true;
    host_.work().stall(removal->work);
  }
  if (!is_first) return;
  const std::string parent(removal->parent());
  host_.removal_refused(parent, removal->node.path, no_permission(removal->node.path, parent));
}

std::shared_ptr<NodeRemovals::Removal> NodeRemovals::retry(std::string_view parent) {
  std::shared_ptr<Removal> last;
  const client::MutexLock guard(mutex_);
  for (const auto& removal : refused_) {
    if (!parent.empty() && removal->parent() != parent) continue;
    last = removal;
    if (!removal->refused) continue;
    send(removal, removal->node, NodeDeleter::Manner::with_care);  // the reply awaits the mutex
    removal->refused = false;
    host_.work().resume(removal->work);
  }
  return last;
}

std::optional<Error> NodeRemovals::retry(const core::LockPath& path) {
  if (!has_refused_) return std::nullopt;
  const auto removal = retry(path.str());
  if (!removal) return std::nullopt;
  return Error(Errc::no_auth, "lock", path.str(), no_permission(removal->node.path, path.str()));
}

void NodeRemovals::retry_all() {
  if (has_refused_) retry(std::string_view());
}

// A delete that is under way again is not ended here, but by its own reply: see refused().
void NodeRemovals::session_ended(SessionId session) noexcept {
  const client::MutexLock guard(mutex_);
  std::erase_if(refused_, [&](const auto& removal) {
    if (removal->session != session || !removal->refused) return false;
    host_.work().resume(removal->work);
    host_.work().end(removal->work);
    return true;
  });
  has_refused_ = !refused_.empty();
}

}  // namespace zklock::detail
