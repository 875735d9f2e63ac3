// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// The command that a guardian starts.
struct GuardedCommand {
  std::string program;                 ///< resolved path
  std::vector<std::string> arguments;  ///< with the name of the program
  int term_signal = SIGTERM;
  sigset_t signal_mask{};         ///< of the command
  bool ignores_children = false;  ///< SIGCHLD is ignored by the command
  bool in_own_group = true;       ///< false: in the process group of zklock
  bool is_repeated = false;       ///< zklock starts it again after its end
  std::string said_if_killed;     ///< line on stderr if zklock was killed
};

/// A message to the guardian; see be_guardian().
struct Order {
  enum class Kind { start, wake, signal, end, kill, finish };
  Kind kind = Kind::finish;
  int number = 0;    ///< of the signal
  Duration grace{};  ///< for `start`
};

/// A message from the guardian; see be_guardian().
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
/// value, even after it was stopped. Messages would have to be read one after the other, and their
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

/// Returns the notice `remaining` about a process that KILL has not ended. Its number is 0 if there
/// is none.
Notice remaining_notice(const Descendants& found, Instant now);

/// The guardian: a process that ends the command when zklock cannot. It is the parent of the
/// command, and the subreaper of all its descendants. It obeys EndPlan by its own clock.
///
/// | order         | content              | effect                                       |
/// |---------------|----------------------|----------------------------------------------|
/// | start         | variables, grace     | starts the command, if EndPlan::may_start()  |
/// |               |                      | and no process of an earlier start is left   |
/// | wake          |                      | a turn, because the kill limit is earlier    |
/// | signal        | number               | sends it to the command                      |
/// | end           |                      | EndPlan::on_end_requested()                  |
/// | kill          |                      | EndPlan::on_kill_requested()                 |
/// | finish        |                      | ends the guardian; sent after `swept`        |
/// | (end of file) |                      | as `end`; the guardian ends after the sweep  |
///
/// | notice        | content              | sent when                                    |
/// |---------------|----------------------|----------------------------------------------|
/// | started       | pid                  | exec has succeeded                           |
/// | not_started   | errno; 0: too late   | fork or exec has failed                      |
/// | stepped       | term or kill, delay  | EndPlan::step() was carried out              |
/// | ended         | status, time         | the command has ended                        |
/// | swept         | time                 | no descendant is left                        |
/// | remaining     | pid, name, uid       | each 500 ms or so while killing              |
///
/// If the command is repeated, zklock may send another `start` after `swept` or `not_started`. The
/// guardian then retains the standard input and output. Otherwise a pipe would not end with the
/// command.
///
/// zklock writes the kill limit of EndPlan to memory that both share. In one turn, the guardian
/// reads the clock, then all orders, and then the limit. So a limit that is read is as new as the
/// time. A `start` and the end of file that are read together start nothing.
///
/// Does not return. An exception ends the process, and so the command: see PR_SET_PDEATHSIG.
/// REQUIRES: this is a new process with one thread. `zklock`: its parent.
[[noreturn]] void be_guardian(const GuardedCommand& command, UniqueFd socket, pid_t zklock,
                              const SharedTime& kill_limit) noexcept;

}  // namespace zklock::cli
