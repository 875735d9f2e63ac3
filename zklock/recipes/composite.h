// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "zklock/core/hold_limit.h"
#include "zklock/owner.h"
#include "zklock/recipes/composite_part.h"
#include "zklock/recipes/lock_events.h"
#include "zklock/recipes/thread_exit.h"

namespace zklock::recipes {

class CompositeCall;

/// The locks of a MultiMutex or a QuorumMutex, in the order in which everybody takes them, and what
/// is to be known of them between the calls.
///
/// Thread-safety: all members, from any thread. To be made by std::make_shared.
class Composite : public ThreadExitListener, public std::enable_shared_from_this<Composite> {
 public:
  struct Part {
    std::unique_ptr<CompositePart> lock;
    std::size_t place = 0;  ///< in the caller's order
  };
  struct Rule {
    std::size_t needed = 1;
    bool queue_again = true;
    core::HoldLimit limit = {};
    std::shared_ptr<LockLine> listener = {};  ///< that all parts tell; null without one
    /// How long a part may be out of reach; only where not all of them are needed.
    std::optional<std::chrono::milliseconds> patience = std::nullopt;
  };

  Composite(std::vector<Part> parts, const Rule& rule);

  const Rule& rule() const noexcept { return rule_; }
  std::size_t size() const noexcept { return parts_.size(); }
  CompositePart& part(std::size_t i) const { return *parts_.at(i).lock; }
  std::size_t place(std::size_t i) const { return parts_.at(i).place; }
  /// For the texts of errors: each path once.
  std::string paths() const;

  bool forked() const noexcept;
  /// Throws Error(forked), or Error(closed) when too few parts are left.
  void check_usable(const char* operation) const;

  /// What a lock() of the calling thread takes is given back when the thread ends.
  void unlock_at_thread_exit();
  /// A lock() of `owner` took these parts.
  void locked(const Owner& owner, std::vector<std::size_t> taken);
  /// Gives back the last lock() of `owner`, in all its parts. Throws Error(not_owner), which names
  /// those that refused, after the others have been unlocked.
  void unlock(const Owner& owner);
  int count(const Owner& owner) const;

  /// Notes that the part is out of reach. If it is connected, sends it a request that needs its
  /// quorum: the part counts as silent until that is answered, or until it is connected anew.
  void set_silent(std::size_t i);
  void set_in_reach(std::size_t i) { silent_.at(i) = 0; }
  bool still_silent(std::size_t i) const;
  /// Whether the silent parts can all be passed over at once: enough others are left.
  bool enough_in_reach() const;

  /// Runs user code: as a callback of the first client that is open.
  void post(std::function<void()> task);

  /// Calls that are under way are told when the public object goes.
  void enroll(const std::shared_ptr<CompositeCall>& call);
  void dismiss(const CompositeCall& call) noexcept;
  void close();

  void thread_exits(Owner owner) noexcept override;

 private:
  std::vector<std::size_t> take_locked(const Owner& owner);
  bool all_needed() const noexcept { return rule_.needed == parts_.size(); }

  const std::vector<Part> parts_;
  const Rule rule_;
  /// For each silent part: 1 + the count of its connections at that time. Else 0.
  std::vector<std::atomic<std::uint64_t>> silent_;

  std::mutex mutex_;
  // guarded by mutex_
  struct Enrolled {
    std::uint64_t number;  ///< rises
    std::weak_ptr<CompositeCall> call;
  };
  std::unordered_map<const CompositeCall*, Enrolled> calls_;
  std::uint64_t last_call_ = 0;
  /// The parts of each lock() that is not undone; not kept where it is always all of them.
  std::unordered_map<Owner, std::vector<std::vector<std::size_t>>> locked_;
};

}  // namespace zklock::recipes
