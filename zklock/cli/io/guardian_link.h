// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

/// A message to the guardian.
struct Order {
  enum class Kind { start, wake, signal, end, kill, finish };
  Kind kind = Kind::finish;
  int number = 0;    ///< of the signal
  Duration grace{};  ///< for `start`
};

/// A message from the guardian.
struct Notice {
  enum class Kind { started, not_started, stepped, ended, swept, remaining };
  Kind kind = Kind::remaining;
  int number = 0;               ///< pid, errno, EndPlan::Step, or status
  int count = 0;                ///< for `stepped`: number of processes
  unsigned uid = 0;             ///< for `remaining`
  bool is_refused = false;      ///< for `remaining`: the system refuses the signal
  Instant at{};                 ///< when it happened
  Duration delay{};             ///< for `stepped`: how late it was
  std::array<char, 16> name{};  ///< for `remaining`
};

/// An order, and the variables that follow a `start`: "NAME=value", each with a final NUL.
struct ReceivedOrder {
  Order order;
  std::string variables;
};

/// The longest text behind an order, in bytes.
inline constexpr std::size_t kMostVariables = 65'536;

/// Sends one message. Does not block. Returns 0, or errno.
int send_message(int fd, const Order& order, std::string_view variables = {}) noexcept;
int send_message(int fd, const Notice& notice) noexcept;

/// Receive one message, without blocking. Return std::nullopt if there is none now. Set `at_end` if
/// the other process has closed the socket and all its messages were received.
std::optional<ReceivedOrder> receive_order(int fd, bool& at_end);
std::optional<Notice> receive_notice(int fd, bool& at_end);

/// A time in memory that this process shares with its later children. A reader gets the latest
/// value, also after it was stopped. Messages would have to be read one after the other, and their
/// queue could become full.
///
/// Thread-safety: any thread and process.
class SharedTime {
 public:
  /// Throws: Failure.
  SharedTime();
  SharedTime(const SharedTime&) = delete;
  SharedTime& operator=(const SharedTime&) = delete;
  ~SharedTime();

  void set(Instant time) noexcept { *count_ = time.time_since_epoch().count(); }
  Instant get() const noexcept { return Instant(Duration(*count_)); }

 private:
  using Count = std::atomic<Duration::rep>;
  static_assert(Count::is_always_lock_free);

  Count* count_;
};

}  // namespace zklock::cli
