// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "zklock/client/dispatcher.h"
#include "zklock/client/serial.h"

namespace zklock::recipes {

/// A listener of the user's and its place in line: events come in order, one at a time. A call that
/// is under way names its thread, so that removing the listener waits for it, except on that thread.
///
/// Thread-safety: all members, from any thread, calls of the listener included. To be made by
/// std::make_shared.
template <class Event>
class SerialListener : public std::enable_shared_from_this<SerialListener<Event>> {
 public:
  using Call = std::function<void(const Event&)>;
  SerialListener(Call call, std::shared_ptr<client::Dispatcher> dispatcher)
      : call_(std::move(call)), line_(std::move(dispatcher)) {}

  /// Does not block, and calls nobody. When it throws (no thread, no memory) the event is told with
  /// the next one, or is lost.
  void tell(Event event) {
    line_.post([self = this->shared_from_this(), event = std::move(event)] { self->run(event); });
  }

  /// No call begins any more, and none is under way, but for that of the calling thread.
  void remove() {
    Call over;  // what it owns goes last, with no lock held
    std::unique_lock lock(mutex_);
    removed_ = true;
    const auto me = std::this_thread::get_id();
    idle_.wait(lock, [&] { return running_on_ == std::thread::id() || running_on_ == me; });
    if (running_on_ == std::thread::id()) over.swap(call_);
  }

 private:
  void run(const Event& event) {
    {
      const std::lock_guard guard(mutex_);
      if (removed_) return;
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
    call_(event);
  }

  Call call_;  ///< constant until it is removed
  client::Serial line_;

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable idle_;
  std::thread::id running_on_;
  bool removed_ = false;
};

}  // namespace zklock::recipes
