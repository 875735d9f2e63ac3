// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/leadership_listeners.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "zklock/client/serial.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/process_identity.h"

namespace zklock::recipes {

/// One listener and its place in line. A call that is under way names its thread, so that whoever
/// removes the listener can wait for it, except on that thread.
class LeadershipListeners::Listener {
 public:
  Listener(Call gained, Call lost, Warn warn, std::shared_ptr<client::Dispatcher> dispatcher)
      : gained_(std::move(gained)),
        lost_(std::move(lost)),
        warn_(std::move(warn)),
        line_(std::move(dispatcher)) {}

  static void tell(const std::shared_ptr<Listener>& self, const std::shared_ptr<Tenure>& tenure,
                   bool gained) {
    {
      const std::lock_guard guard(self->mutex_);
      if (self->silent_) return;
      self->news_.push_back({tenure, gained});
    }
    self->line_.post([self] { self->tell_next(); });
  }

  void fall_silent() {
    std::deque<News> dropped;
    const std::lock_guard guard(mutex_);
    silent_ = true;
    news_.swap(dropped);
  }

  void finish() {
    std::deque<News> dropped;
    const std::lock_guard guard(mutex_);
    silent_ = true;
    news_.swap(dropped);
    // Whoever heard of a leadership hears of its end, which is the next in line.
    if (leads_ && !dropped.empty()) news_.push_back(dropped.front());
  }

  bool runs_here() const {
    const std::lock_guard guard(mutex_);
    return running_on_ == std::this_thread::get_id();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    const auto me = std::this_thread::get_id();
    idle_.wait(lock, [&] { return running_on_ == std::thread::id() || running_on_ == me; });
  }

 private:
  struct News {
    std::shared_ptr<Tenure> tenure;
    bool gained;
  };

  void tell_next() {
    News news;
    {
      const std::lock_guard guard(mutex_);
      if (news_.empty()) return;
      news = std::move(news_.front());
      news_.pop_front();
      leads_ = news.gained;
      running_on_ = std::this_thread::get_id();
    }
    const Call& call = news.gained ? gained_ : lost_;
    try {
      if (call) call(news.tenure->leadership());
    } catch (const std::exception& e) {
      warn_(std::string("an exception left a listener: ") + e.what());
    } catch (...) {
      warn_("an exception left a listener");
    }
    const std::lock_guard guard(mutex_);
    running_on_ = {};
    idle_.notify_all();
  }

  const Call gained_;
  const Call lost_;
  const Warn warn_;
  client::Serial line_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable idle_;
  std::deque<News> news_;
  bool leads_ = false;  ///< as far as it has heard
  bool silent_ = false;
  std::thread::id running_on_;
};

struct LeadershipListeners::List {
  std::mutex mutex;
  // guarded by mutex
  std::vector<std::shared_ptr<Listener>> listeners;

  std::vector<std::shared_ptr<Listener>> copy() {
    const std::lock_guard guard(mutex);
    return listeners;
  }
};

LeadershipListeners::LeadershipListeners(std::shared_ptr<client::Dispatcher> dispatcher, Warn warn)
    : dispatcher_(std::move(dispatcher)), warn_(std::move(warn)), list_(std::make_shared<List>()) {}

Subscription LeadershipListeners::add(Call gained, Call lost,
                                      const std::shared_ptr<Tenure>& present) {
  auto added = std::make_shared<Listener>(std::move(gained), std::move(lost), warn_, dispatcher_);
  {
    const std::lock_guard guard(list_->mutex);
    list_->listeners.push_back(added);
  }
  if (present) Listener::tell(added, present, true);
  return Subscription([list = list_, added, birth = fork_generation()] {
    if (fork_generation() != birth) {
      keep_for_ever(list);
      keep_for_ever(added);
      return;
    }
    {
      const std::lock_guard guard(list->mutex);
      std::erase(list->listeners, added);
    }
    added->fall_silent();
    added->wait();
  });
}

void LeadershipListeners::tell(const std::shared_ptr<Tenure>& tenure, bool gained) noexcept {
  for (const auto& listener : list_->copy()) {
    try {
      Listener::tell(listener, tenure, gained);
    } catch (const std::exception& e) {  // no thread, no memory: it is told with the next one
      warn_(e.what());
    }
  }
}

void LeadershipListeners::began(const std::shared_ptr<Tenure>& tenure) noexcept {
  tell(tenure, true);
}

void LeadershipListeners::ended(const std::shared_ptr<Tenure>& tenure) noexcept {
  tell(tenure, false);
}

void LeadershipListeners::fall_silent() noexcept {
  for (const auto& listener : list_->copy()) listener->fall_silent();
}

void LeadershipListeners::finish() noexcept {
  for (const auto& listener : list_->copy()) listener->finish();
}

void LeadershipListeners::forget() noexcept {
  std::vector<std::shared_ptr<Listener>> forgotten;  // destroyed after the lock
  const std::lock_guard guard(list_->mutex);
  list_->listeners.swap(forgotten);
}

void LeadershipListeners::wait() noexcept {
  const auto listeners = list_->copy();
  if (std::ranges::any_of(listeners, [](const auto& l) { return l->runs_here(); })) return;
  for (const auto& listener : listeners) listener->wait();
}

}  // namespace zklock::recipes
