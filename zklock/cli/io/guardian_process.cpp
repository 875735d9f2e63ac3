// SPDX-License-Identifier: Apache-2.0
// The process of the guardian.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/cli/core/kill_schedule.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/io/standard_streams.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

/// The error that the command process reports if it is too late to start.
constexpr int kTooLate = 0;
constexpr int kNoExec = 127;
/// The time for processes that end by themselves after the command, such as `tee`.
constexpr milliseconds kLeftoverPause{100};
/// The time from KILL to the report of a process that remains, and between two reports.
constexpr milliseconds kBetweenReports{500};

/// Sets the variables of the GuardianMemory. They become a part of the environment.
void set_variables(char* text) {
  for (; *text != '\0'; text += std::strlen(text) + 1) ::putenv(text);
}

/// Replaces the descriptors 0 and 1 of this process by /dev/null.
void replace_standard_input_and_output() noexcept {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.get() < 0) return;
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(null.get(), STDOUT_FILENO);
}

/// Thread-safety: none. REQUIRES: the process has one thread and blocks all signals.
class GuardianProcess {
 public:
  GuardianProcess(const GuardedCommand& command, UniqueFd socket, pid_t zklock,
                  const GuardianMemory& memory)
      : command_(command),
        socket_(std::move(socket)),
        zklock_(zklock),
        own_pid_(::getpid()),
        memory_(memory),
        children_(signal_descriptor(signal_set({SIGCHLD}))) {}

  /// Runs until zklock needs the guardian no more. No process of the command is left then.
  void run() {
    while (true) {
      const Instant now = LeaseClock::now();
      read_orders();
      if (exec_result_.get() >= 0) read_exec_result();
      reap();
      step(now);
      send_queued();
      if (is_done()) break;
      waiter_.wait({at_end_ ? -1 : socket_.get(), children_.get(), exec_result_.get()},
                   next_turn());
      signalfd_siginfo info{};
      while (::read(children_.get(), &info, sizeof info) > 0) {
      }
    }
  }

 private:
  bool is_done() const noexcept { return !has_descendants_ && (at_end_ || finish_); }

  Instant next_turn() const noexcept {
    const Instant next = has_descendants_ && plan_ ? plan_->next_step_time() : Instant::max();
    if (queued_.empty() || at_end_) return next;
    return std::min(next, LeaseClock::now() + milliseconds(50));
  }

  void read_orders() {
    if (at_end_) return;
    std::vector<Order> orders;
    while (const auto order = receive_message<Order>(socket_.get(), at_end_)) {
      orders.push_back(*order);
    }
    for (const Order& each : orders) obey(each);
    if (at_end_ && plan_ && has_descendants_) plan_->on_end_requested(LeaseClock::now());
  }

  void obey(const Order& order) {
    switch (order.kind) {
      case Order::Kind::start:
        if (!at_end_ && !has_descendants_) start(order.grace);
        break;
      case Order::Kind::wake: break;
      case Order::Kind::signal:
        if (child_ > 0) ::kill(child_, order.number);
        break;
      case Order::Kind::end:
        if (plan_) plan_->on_end_requested(LeaseClock::now());
        break;
      case Order::Kind::kill:
        if (plan_) plan_->on_kill_requested(LeaseClock::now());
        break;
      case Order::Kind::finish: finish_ = true; break;
    }
  }

  void start(Duration grace) {
    plan_.emplace(grace);
    kill_said_ = false;
    remaining_said_ = {};
    plan_->on_kill_limit(memory_.limit());
    if (!plan_->may_start(LeaseClock::now())) {
      send({.kind = Notice::Kind::not_started, .number = kTooLate});
      return;
    }
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      send({.kind = Notice::Kind::not_started, .number = errno});
      return;
    }
    UniqueFd read_end(ends[0]);
    const UniqueFd write_end(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) become_command(write_end.get());
    if (pid < 0) {
      send({.kind = Notice::Kind::not_started, .number = errno});
      return;
    }
    child_ = pid;
    has_descendants_ = true;
    exec_result_ = std::move(read_end);
  }

  [[noreturn]] void become_command(int result_fd) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != own_pid_) ::_exit(kNoExec);  // the guardian ended before the prctl
    ::setpgid(0, command_.in_own_group ? 0 : ::getpgid(zklock_));
    set_variables(memory_.variables());
    std::vector<std::string> texts = command_.arguments;
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    if (command_.ignores_children) ::signal(SIGCHLD, SIG_IGN);
    int error = kTooLate;
    // The fork, and the preparation, may have taken long.
    plan_->on_kill_limit(memory_.limit());
    if (plan_->may_start(LeaseClock::now())) {
      ::sigprocmask(SIG_SETMASK, &command_.signal_mask, nullptr);
      // A script without "#!" runs by /bin/sh, as under nice and timeout. The program has a slash,
      // so it is not searched for.
      ::execvp(command_.program.c_str(), arguments.data());
      error = errno;
    }
    (void)!::write(result_fd, &error, sizeof error);
    ::_exit(kNoExec);
  }

  void read_exec_result() {
    int error = 0;
    const ssize_t length = ::read(exec_result_.get(), &error, sizeof error);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    exec_result_.reset();
    if (length == 0) {
      if (!command_.is_repeated) replace_standard_input_and_output();
      send({.kind = Notice::Kind::started, .number = child_});
      return;
    }
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
    has_descendants_ = false;
    send({.kind = Notice::Kind::not_started, .number = error});
  }

  void reap() {
    int status = 0;
    while (has_descendants_) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid == 0 || (pid < 0 && errno != ECHILD)) return;
      if (pid < 0) return on_swept();
      if (pid == child_) on_child_ended(status);
    }
  }

  void on_child_ended(int status) {
    // The exec has failed or succeeded, perhaps since the last look at the pipe.
    if (exec_result_.get() >= 0) read_exec_result();
    if (!has_descendants_) return;
    child_ = 0;
    send({.kind = Notice::Kind::ended, .number = status, .at = LeaseClock::now()});
    // Processes that the command has left end with it.
    plan_->on_end_requested(LeaseClock::now() + kLeftoverPause);
  }

  void on_swept() {
    has_descendants_ = false;
    send({.kind = Notice::Kind::swept, .at = LeaseClock::now()});
    if (at_end_) write_line(command_.said_if_killed);
  }

  void step(Instant now) {
    if (!has_descendants_ || !plan_) return;
    plan_->on_kill_limit(memory_.limit());
    const KillSchedule::Step step = plan_->step(now);
    if (step == KillSchedule::Step::none) return;
    const bool kills = step == KillSchedule::Step::kill;
    const int signal = kills ? SIGKILL : command_.term_signal;
    // The command first: it may have many descendants.
    if (kills && child_ > 0) ::kill(child_, signal);
    const Descendants found = signal_descendants(own_pid_, signal);
    // If /proc cannot be read now, at least the command itself ends.
    if (child_ > 0 && found.count() == 0) ::kill(child_, signal);
    if (kills) report_remaining(found, now);
    // A stopped process receives the signal when it continues.
    if (!kills) signal_descendants(own_pid_, SIGCONT);
    if (kills && std::exchange(kill_said_, true)) return;
    send({.kind = Notice::Kind::stepped,
          .number = static_cast<int>(step),
          .count = found.count(),
          .at = LeaseClock::now(),
          .delay = LeaseClock::now() - plan_->last_step_due()});
  }

  void report_remaining(const Descendants& found, Instant now) {
    const bool is_first = remaining_said_ == Instant{};
    if (!is_first && now < remaining_said_ + kBetweenReports) return;
    remaining_said_ = now;
    if (is_first || !queued_.empty()) return;
    (void)send_message(socket_.get(), remaining_notice(found, now));
  }

  void send(const Notice& notice) {
    queued_.push_back(notice);
    send_queued();
  }

  void send_queued() {
    while (!queued_.empty() && !at_end_) {
      const int error = send_message(socket_.get(), queued_.front());
      if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM) return;
      queued_.erase(queued_.begin());
    }
  }

  const GuardedCommand& command_;
  UniqueFd socket_;
  const pid_t zklock_;
  const pid_t own_pid_;
  const GuardianMemory& memory_;
  UniqueFd children_;     ///< signalfd for SIGCHLD
  UniqueFd exec_result_;  ///< while exec has not ended
  Waiter waiter_;
  std::optional<KillSchedule> plan_;  ///< set by `start`
  pid_t child_ = 0;                   ///< the command, until it was reaped
  bool has_descendants_ = false;
  bool at_end_ = false;  ///< end of file: zklock has ended
  bool finish_ = false;
  bool kill_said_ = false;
  Instant remaining_said_{};
  std::vector<Notice> queued_;  ///< the socket was full
};

}  // namespace

Notice remaining_notice(const Descendants& found, Instant now) {
  Notice notice{.kind = Notice::Kind::remaining, .at = now};
  notice.is_refused = !found.refused.empty();
  const std::vector<pid_t>& pids = notice.is_refused ? found.refused : found.signalled;
  if (pids.empty()) return notice;
  notice.number = pids.front();
  const std::string folder = "/proc/" + std::to_string(notice.number);
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0) notice.uid = status.st_uid;
  std::string name;
  std::getline(std::ifstream(folder + "/comm"), name);
  std::strncpy(notice.name.data(), name.c_str(), notice.name.size() - 1);
  return notice;
}

void be_guardian(const GuardedCommand& command, UniqueFd socket, pid_t zklock,
                 const GuardianMemory& memory) noexcept {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setpgid(0, 0);
  // Not "zklock...": `pkill zklock` must not end both processes at one moment.
  ::prctl(PR_SET_NAME, "lock-guardian");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  GuardianProcess(command, std::move(socket), zklock, memory).run();
  ::_exit(0);
}

}  // namespace zklock::cli
