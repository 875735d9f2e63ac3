// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "zklock/client/dispatcher.h"
#include "zklock/client/serial.h"

namespace zklock::recipes {

enum class Telling {
  every,   ///< news, however far behind a listener is
  newest,  ///< news, when the listener is ready for them, if they are not what it was told last
};

/// A listener of the user's and its place in line: news come in order, one call at a time. A call
/// that is under way names its thread, so that whoever removes the listener can wait for it, except
/// on that thread. What a call throws is the dispatcher's.
///
/// Thread-safety: all members, from any thread, calls of the listener included. To be made by
/// std::make_shared.
template <class News, Telling telling = Telling::every>
class SerialListener : public std::enable_shared_from_this<SerialListener<News, telling>> {
 public:
  using Call = std::function<void(const News&)>;
  SerialListener(Call call, std::shared_ptr<client::Dispatcher> dispatcher)
      : call_(std::move(call)), line_(std::move(dispatcher)) {}

  /// Does not block, and calls nobody. When it throws (no thread, no memory) the news are told with
  /// the next ones, or are lost.
  void tell(News news) {
    bool in_line = false;
    {
      const std::lock_guard guard(mutex_);
      if (silent_) return;
      if constexpr (telling == Telling::newest) news_.clear();
      news_.push_back(std::move(news));
      in_line = std::exchange(has_turn_, true) && telling == Telling::newest;
    }
    if (in_line) return line_.urge();  // its turn will find these
    try {
      line_.post([self = this->shared_from_this()] { self->tell_next(); });
    } catch (...) {
      const std::lock_guard guard(mutex_);
      has_turn_ = false;
      throw;
    }
  }

  /// No call begins any more; but for the next in line, if `keep` says so: what it is, and what
  /// was told last, where that was anything.
  using Keep = bool (*)(const std::optional<News>& told, const News& next);
  void fall_silent(Keep keep = nullptr) {
    std::deque<News> dropped;  // after the lock
    const std::lock_guard guard(mutex_);
    silent_ = true;
    news_.swap(dropped);
    if (keep == nullptr || dropped.empty() || !keep(told_, dropped.front())) return;
    news_.push_back(std::move(dropped.front()));
    dropped.pop_front();
  }

  bool runs_here() const {
    const std::lock_guard guard(mutex_);
    return running_on_ == std::this_thread::get_id();
  }

  /// Until no call is under way, but for that of the calling thread.
  void wait() {
    std::unique_lock lock(mutex_);
    wait(lock);
  }

  /// Once it returns, no call begins any more, and none is under way but for that of the calling
  /// thread. What fall_silent() kept is told here; from within a call, it is dropped.
  void finish() {
    std::unique_lock lock(mutex_);
    silent_ = true;
    for (;;) {
      wait(lock);
      if (running_on_ != std::thread::id()) news_.clear();
      const bool all_told = news_.empty();
      lock.unlock();
      if (all_told) return line_.clear();
      tell_next();
      lock.lock();
    }
  }

  /// No call begins any more, and none is under way, but for that of the calling thread.
  void remove() {
    fall_silent();
    line_.clear();  // the executor may have dropped its turn, and what is in line keeps this object
    Call over;      // what it owns goes last, with no lock held
    std::unique_lock lock(mutex_);
    wait(lock);
    if (running_on_ == std::thread::id()) over.swap(call_);
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock) {
    const auto me = std::this_thread::get_id();
    idle_.wait(lock, [&] { return running_on_ == std::thread::id() || running_on_ == me; });
  }

  void tell_next() {
    std::optional<News> news;
    {
      const std::lock_guard guard(mutex_);
      has_turn_ = false;
      if (news_.empty()) return;
      news = std::move(news_.front());
      news_.pop_front();
      if constexpr (telling == Telling::newest) {
        if (news == told_) return;
      }
      told_ = news;
      running_on_ = std::this_thread::get_id();
    }
    struct Ended {
      SerialListener& listener;
      ~Ended() {
        const std::lock_guard guard(listener.mutex_);
        listener.running_on_ = {};
        listener.idle_.notify_all();
      }
    } const ended{*this};
    if (call_) call_(*news);
  }

  Call call_;  ///< constant until it is removed
  client::Serial line_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable idle_;
  std::deque<News> news_;
  bool has_turn_ = false;     ///< the line has one for what was told last
  std::optional<News> told_;  ///< last
  std::thread::id running_on_;
  bool silent_ = false;
};

}  // namespace zklock::recipes
