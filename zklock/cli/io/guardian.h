// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <signal.h>
#include <sys/socket.h>
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
  int number = 0;               ///< pid, errno, KillSchedule::Step, or status
  int count = 0;                ///< for `stepped`: number of processes
  unsigned uid = 0;             ///< for `remaining`
  bool is_refused = false;      ///< for `remaining`: the system refuses the signal
  Instant at{};                 ///< when it happened
  Duration delay{};             ///< for `stepped`: how late it was
  std::array<char, 16> name{};  ///< for `remaining`
};

/// Sends an Order or a Notice. Does not block. Returns 0, or errno.
template <class Message>
int send_message(int fd, const Message& message) noexcept {
  while (::send(fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Receives one message, without blocking. Returns std::nullopt if there is none now. Sets `at_end`
/// if the other process has closed the socket and all its messages were received.
template <class Message>
std::optional<Message> receive_message(int fd, bool& at_end) noexcept {
  static_assert(std::is_trivially_copyable_v<Message>);
  Message message;
  while (true) {
    const ssize_t length = ::recv(fd, &message, sizeof message, MSG_DONTWAIT);
    if (length == sizeof message) return message;
    // The other process has ended with unread messages. Its own messages follow this error.
    if (length < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    at_end = length == 0 || (length < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    return std::nullopt;
  }
}

/// Memory that this process shares with its later children. A reader gets the latest kill limit,
/// even after it was stopped. Messages would have to be read one after the other, and their queue
/// could become full.
///
/// Thread-safety: any thread and process for the limit. zklock writes the variables before it sends
/// `start`; the guardian reads them afterwards, and zklock sends the next `start` after the reply.
class GuardianMemory {
 public:
  static constexpr std::size_t kMostVariables = 65'536;  ///< bytes

  /// Throws: Failure.
  GuardianMemory();
  GuardianMemory(const GuardianMemory&) = delete;
  GuardianMemory& operator=(const GuardianMemory&) = delete;
  ~GuardianMemory();

  void set_limit(Instant time) noexcept { content_->limit = time.time_since_epoch().count(); }
  Instant limit() const noexcept { return Instant(Duration(content_->limit)); }
  /// "NAME=value", each with a final NUL, and another NUL at the end.
  char* variables() const noexcept { return content_->variables.data(); }

 private:
  struct Content {
    std::atomic<Duration::rep> limit{0};
    std::array<char, kMostVariables> variables{};
  };
  static_assert(std::atomic<Duration::rep>::is_always_lock_free);

  Content* content_;
};

/// Returns the notice `remaining` about a process that KILL has not ended. Its number is 0 if there
/// is none.
Notice remaining_notice(const Descendants& found, Instant now);

/// The guardian: a process that ends the command when zklock cannot. It is the parent of the
/// command, and the subreaper of all its descendants. It obeys KillSchedule by its own clock.
///
/// | order         | content              | effect                                       |
/// |---------------|----------------------|----------------------------------------------|
/// | start         | variables, grace     | starts the command, if KillSchedule::may_start()  |
/// |               |                      | and no process of an earlier start is left   |
/// | wake          |                      | a turn, because the kill limit is earlier    |
/// | signal        | number               | sends it to the command                      |
/// | end           |                      | KillSchedule::on_end_requested()                  |
/// | kill          |                      | KillSchedule::on_kill_requested()                 |
/// | finish        |                      | ends the guardian; sent after `swept`        |
/// | (end of file) |                      | as `end`; the guardian ends after the sweep  |
///
/// | notice        | content              | sent when                                    |
/// |---------------|----------------------|----------------------------------------------|
/// | started       | pid                  | exec has succeeded                           |
/// | not_started   | errno; 0: too late   | fork or exec has failed                      |
/// | stepped       | term or kill, delay  | KillSchedule::step() was carried out              |
/// | ended         | status, time         | the command has ended                        |
/// | swept         | time                 | no descendant is left                        |
/// | remaining     | pid, name, uid       | each 500 ms or so while killing              |
///
/// If the command is repeated, zklock may send another `start` after `swept` or `not_started`. The
/// guardian then retains the standard input and output. Otherwise a pipe would not end with the
/// command.
///
/// zklock writes the kill limit of KillSchedule to memory that both share. In one turn, the guardian
/// reads the clock, then all orders, and then the limit. So a limit that is read is as new as the
/// time. A `start` and the end of file that are read together start nothing.
///
/// Does not return. An exception ends the process, and so the command: see PR_SET_PDEATHSIG.
/// REQUIRES: this is a new process with one thread. `zklock`: its parent.
[[noreturn]] void be_guardian(const GuardedCommand& command, UniqueFd socket, pid_t zklock,
                              const GuardianMemory& memory) noexcept;

/// zklock's side of its guardian; see be_guardian(). The process of zklock becomes a subreaper,
/// too. So the processes of the command become its children if the guardian dies.
///
/// Thread-safety: one thread. REQUIRES: constructed before the process has a second thread.
class Guardian {
 public:
  /// Forks the guardian. Throws: Failure.
  explicit Guardian(const GuardedCommand& command);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  /// Closes the socket. Then the guardian ends the command, if it runs.
  ~Guardian() = default;

  int fd() const noexcept { return at_end_ ? -1 : socket_.get(); }
  pid_t pid() const noexcept { return pid_; }
  /// Returns whether the guardian has ended. Read all notices first.
  bool has_ended() const noexcept { return at_end_; }

  /// Starts the command. `variables`: "NAME=value", each with a final NUL. Returns 0, or errno.
  int start(std::string_view variables, Instant bound, Duration session_timeout,
            Duration grace) noexcept;
  /// The lock is certain until `bound`; see KillSchedule::on_bound().
  void bound(Instant bound, Duration session_timeout) noexcept;
  void signal(int number) noexcept { send({.kind = Order::Kind::signal, .number = number}); }
  /// TERM is due now, and KILL after the grace; see KillSchedule::on_end_requested().
  void request_end() noexcept { send({.kind = Order::Kind::end}); }
  /// KILL is due now.
  void request_kill() noexcept { send({.kind = Order::Kind::kill}); }
  /// Ends the guardian. REQUIRES: no process of the command is left.
  void finish() noexcept { send({.kind = Order::Kind::finish}); }
  /// Returns the next notice; std::nullopt if there is none now.
  std::optional<Notice> next_notice();

  /// Kills all processes of the command, but not the guardian. Returns how many there were.
  int kill_descendants() const;
  /// Kills the guardian.
  void kill_guardian() const noexcept { ::kill(pid_, SIGKILL); }
  /// For the time after has_ended(). Kills and reaps the processes that the guardian has left to
  /// this process. Returns whether none is left.
  bool sweep_orphans();
  /// Returns the notice about a process that the last sweep_orphans() could not end.
  Notice remaining_orphan() const { return remaining_notice(orphans_, LeaseClock::now()); }

 private:
  void send(const Order& order) noexcept { (void)send_message(socket_.get(), order); }

  const std::vector<pid_t> inherited_;  ///< children that this process had before the guardian
  GuardianMemory memory_;
  Descendants orphans_;
  UniqueFd socket_;
  pid_t pid_ = 0;
  bool at_end_ = false;
};

}  // namespace zklock::cli
