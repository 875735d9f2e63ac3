// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

namespace zklock::detail {

/// A std::stop_source that is allocated at its first use, because most holds need none.
///
/// Thread-safety: any thread may call any member; lock-free.
class LazyStopSource {
 public:
  LazyStopSource() = default;
  LazyStopSource(const LazyStopSource&) = delete;
  LazyStopSource& operator=(const LazyStopSource&) = delete;
  ~LazyStopSource() { delete source_.load(); }

  std::stop_source get() const {
    std::stop_source* made = source_.load();
    if (made != nullptr) return *made;
    auto fresh = std::make_unique<std::stop_source>();
    if (!source_.compare_exchange_strong(made, fresh.get())) return *made;  // by another thread
    return *fresh.release();
  }
  bool stop_requested() const noexcept {
    const std::stop_source* const made = source_.load();
    return made != nullptr && made->stop_requested();
  }

 private:
  mutable std::atomic<std::stop_source*> source_{nullptr};
};

/// Returns a stopped token. A caller gets it for a lost hold whose own loss token is not stopped
/// yet. So the caller learns of the loss at once.
inline std::stop_token stopped_token() {
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace zklock::detail
