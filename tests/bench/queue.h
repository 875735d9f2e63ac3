// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "bench/contestant.h"
#include "bench/measure.h"
#include "bench/raw_session.h"

namespace zklock::bench {

/// A holder on its own session, and waiters on other sessions.
///
/// Thread-safety: none.
class Queue {
 public:
  /// Connects, and acquires the lock for the holder.
  Queue(const Params& params, Contestant& contestant, const std::string& hosts,
        std::size_t sessions);

  /// Enqueues the waiters. Blocks until all are enqueued, and then for the parameter "settle".
  /// Throws std::runtime_error if they are not enqueued in two minutes.
  void fill(std::size_t waiters);
  /// Releases the lock of the holder. REQUIRES: called by the thread that made the queue.
  void begin_drain() { holder_->unlock(); }
  /// Blocks until the last release is confirmed. Throws std::runtime_error if that takes two
  /// minutes.
  void finish_drain();
  /// Drains the queue. Returns the time from the first release to the last grant.
  Clock::duration drain();
  /// Acquires the lock for the holder again. REQUIRES: no waiters.
  void hold_again() { holder_->lock(); }

  /// Returns the grants since fill().
  const Exclusive& exclusive() const { return *exclusive_; }

 private:
  void granted();

  const std::string path_;
  const Clock::duration settle_;
  const Clock::duration apart_;  ///< of the beginnings of the waiters
  RawSession probe_;
  std::size_t waiting_ = 0;
  std::binary_semaphore drained_{0};
  std::unique_ptr<Exclusive> exclusive_;
  const std::unique_ptr<Session> holders_;
  std::vector<std::unique_ptr<Session>> sessions_;
  const std::unique_ptr<Lock> holder_;
};

}  // namespace zklock::bench
