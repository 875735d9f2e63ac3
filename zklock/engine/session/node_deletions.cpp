// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/node_deletions.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "zklock/core/log_line.h"
#include "zklock/core/permission_text.h"

namespace zklock::detail {

namespace {

std::string no_permission(const std::string& node, const std::string& parent,
                          std::string_view user) {
  return core::no_permission("DELETE", parent, user) + ", so this client's znode " + node +
         " stays; permit DELETE, or close the client";
}

}  // namespace

/// A znode that is being deleted.
class NodeDeletions::Deletion final : public NodeDeleter::Deletion,
                                      public std::enable_shared_from_this<Deletion> {
 public:
  Deletion(NodeDeletions& deletions, SessionId session, NodeDeleter::Node node,
           NodeDeleter::FirstStep first, std::function<void()> on_deleted)
      : NodeDeleter::Deletion(deletions.node_deleter_, session, std::move(node), first),
        deletions_(deletions),
        host_(deletions.host_.weak_host()),
        on_deleted_(std::move(on_deleted)) {}

  std::string_view parent() const { return std::string_view(path).substr(0, path.rfind('/')); }

  BackgroundWork::Id work{};
  // Guarded by mutex_:
  std::string path;  ///< set at the first refusal
  bool is_refused = false;

 private:
  void on_ended(NodeDeleter::End end) override {
    if (on_deleted_ && end == NodeDeleter::End::deleted) on_deleted_();
    const auto alive = host_.lock();
    if (!alive) return;
    end == NodeDeleter::End::refused ? deletions_.on_refused(shared_from_this())
                                     : deletions_.finished(shared_from_this());
  }

  NodeDeletions& deletions_;  ///< exists while the host does
  const std::weak_ptr<void> host_;
  const std::function<void()> on_deleted_;
};

NodeDeletions::NodeDeletions(client::Coordinator& coordinator, client::Scheduler& scheduler,
                             Host& host)
    : host_(host),
      node_deleter_(coordinator, scheduler, [&host](const std::string& path, core::Status why) {
        host.warn(core::log_line("delete", path,
                                 "the servers refused (" + std::string(to_string(why)) +
                                     "); delete this znode by hand, or give this client DELETE on "
                                     "its parent",
                                 {}));
      }) {}

void NodeDeletions::begin(SessionId session, NodeDeleter::Node node, NodeDeleter::FirstStep first,
                          std::function<void()> on_deleted, BackgroundWork::Id work) {
  if (host_.closed()) return;
  const auto deletion =
      std::make_shared<Deletion>(*this, session, std::move(node), first, std::move(on_deleted));
  deletion->work = host_.work().begin(work);
  NodeDeleter::submit(deletion);
}

void NodeDeletions::finished(const std::shared_ptr<Deletion>& deletion) {
  if (has_refused_) {
    const client::MutexLock guard(mutex_);
    assert(!deletion->is_refused);
    std::erase(refused_, deletion);
    has_refused_ = !refused_.empty();
  }
  host_.work().end(deletion->work);
}

void NodeDeletions::on_refused(const std::shared_ptr<Deletion>& deletion) {
  bool is_first = false;
  {
    client::MutexLock lock(mutex_);
    if (!host_.is_current(deletion->session())) {
      lock.unlock();
      return finished(deletion);
    }
    assert(!deletion->is_refused && has_refused_ == !refused_.empty());
    if (std::ranges::find(refused_, deletion) == refused_.end()) {
      deletion->path = deletion->node().path;
      is_first = std::ranges::find(refused_, deletion->parent(),
                                   [](const auto& r) { return r->parent(); }) == refused_.end();
      refused_.push_back(deletion);
      has_refused_ = true;
    }
    deletion->is_refused = true;
    host_.work().stall(deletion->work);
  }
  if (!is_first) return;
  const std::string parent(deletion->parent());
  host_.deletion_refused(parent, deletion->path,
                         no_permission(deletion->path, parent, host_.user()));
}

std::shared_ptr<NodeDeletions::Deletion> NodeDeletions::retry(std::string_view parent) {
  std::shared_ptr<Deletion> last;
  const client::MutexLock guard(mutex_);
  for (const auto& deletion : refused_) {
    if (!parent.empty() && deletion->parent() != parent) continue;
    last = deletion;
    if (!deletion->is_refused) continue;
    deletion->begin_again();
    NodeDeleter::submit(deletion);  // the reply awaits the mutex
    deletion->is_refused = false;
    host_.work().resume(deletion->work);
  }
  return last;
}

std::optional<Error> NodeDeletions::retry(const core::LockPath& path) {
  if (!has_refused_) return std::nullopt;
  const auto deletion = retry(path.str());
  if (!deletion) return std::nullopt;
  return Error(Errc::no_auth, "lock", path.str(),
               no_permission(deletion->path, path.str(), host_.user()));
}

void NodeDeletions::retry_all() {
  if (has_refused_) retry(std::string_view());
}

std::size_t NodeDeletions::refused() const {
  const client::MutexLock guard(mutex_);
  return refused_.size();
}

// A delete that is under way again is not ended here, but by its own reply: see on_refused().
void NodeDeletions::session_ended(SessionId session) noexcept {
  const client::MutexLock guard(mutex_);
  std::erase_if(refused_, [&](const auto& deletion) {
    if (deletion->session() != session || !deletion->is_refused) return false;
    host_.work().resume(deletion->work);
    host_.work().end(deletion->work);
    return true;
  });
  has_refused_ = !refused_.empty();
}

}  // namespace zklock::detail
