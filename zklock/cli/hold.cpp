// SPDX-License-Identifier: Apache-2.0
#include "zklock/hold.h"

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/service_notify.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/io/unique_fd.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"
#include "zklock/client.h"

namespace zklock::cli {

namespace {

struct HoldOptions {
  RunOptions lock;
  std::optional<int> ready_fd;
};

/// Returns a descriptor that is open for writing.
int ready_descriptor(const std::string& text) {
  const int fd = option_number("--ready-fd", text, 3, 1'000'000);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return fd;
  refuse("descriptor " + std::to_string(fd) + " is not open for writing");
}

/// One `zklock hold`: it waits for the lock, and then for a signal or the loss.
///
/// Thread-safety: one thread.
class Holding {
 public:
  /// Throws: Failure, Error.
  explicit Holding(const HoldOptions& options)
      : options_(options.lock),
        ready_(options.ready_fd.value_or(-1)),
        client_(run_client_options(options.lock)),
        acquire_(make_contender(client_, options_.path, options_.lock)) {}
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  ~Holding() = default;

  /// Returns the exit code.
  int go() {
    acquire();
    while (!is_answered_) {
      const Instant limit = signal_ ? *signalled_at_ + kReleaseTimeout : Instant::max();
      turn(limit);
      // After a second signal, the znode is deleted with the session.
      const bool is_over = signals_received_ > 1 || LeaseClock::now() >= limit;
      if (!is_answered_ && is_over) return end_with(client_, ExitCode::kSignal + *signal_);
    }
    if (hold_ && !signal_) return hold();
    if (hold_) release();
    if (signal_) return end_with(client_, ExitCode::kSignal + *signal_);
    return end_with(client_, refused());
  }

 private:
  void acquire() {
    acquire_(acquire_deadline(options_, LeaseClock::now()), stop_.get_token(),
             [this](HeldLock hold, std::exception_ptr error) {
               auto shared = std::make_shared<HeldLock>(std::move(hold));
               tasks_.post([this, shared, error = std::move(error)] {
                 hold_ = std::move(*shared);
                 error_ = error;
                 is_answered_ = true;
               });
             });
  }

  /// Waits for signals and tasks, at most until `until`, and handles them.
  void turn(Instant until) {
    waiter_.wait({signals_.fd(), tasks_.fd()}, until);
    while (const auto signal = signals_.next()) {
      if (!ends_wait(signal->number)) continue;
      signal_ = signal->number;
      ++signals_received_;
      if (!signalled_at_) signalled_at_ = LeaseClock::now();
      stop_.request_stop();
    }
    for (const TaskQueue::Task& task : tasks_.take()) task();
  }

  /// Says why the lock was not acquired, and returns the exit code.
  int refused() {
    if (error_) {
      const Failure failure = failure_of(error_);
      say(failure.what());
      return failure.exit_code();
    }
    say(not_acquired_text(options_.wait, blocker_text(hold_.hold(), options_.lock)));
    return ExitCode::kNotAcquired;
  }

  int hold() {
    const Instant granted_at = LeaseClock::now();
    const std::string token = to_string(hold_.token());
    const std::stop_callback on_loss(hold_.loss_token(), [this] { tasks_.post([] {}); });
    const std::stop_callback on_request(hold_.release_request_token(), [this] {
      tasks_.post([this] {
        if (!options_.settings.quiet) say("a release is requested");
      });
    });
    announce(token);
    while (hold_.is_valid() && !signal_) turn(hold_.valid_until());
    const auto loss = hold_.loss_reason();
    notify_service("STOPPING=1");
    if (!loss) {
      release();
      return end_with(client_, 0);
    }
    say(std::string("the lock was lost (") + names_of(*loss).in_text + "), held for " +
        text_of(LeaseClock::now() - granted_at) + ", token " + token);
    // A program that works under the hold waits for the exit. The end of the session deletes the
    // znode.
    if (*loss == LossReason::lease_expired || *loss == LossReason::session_expired)
      ::_exit(ExitCode::kLost);
    return end_with(client_, ExitCode::kLost);
  }

  void announce(const std::string& token) {
    const std::string path = hold_.node();
    const std::string node = path.substr(path.rfind('/') + 1);
    if (options_.settings.json) {
      print_line(json::hold(options_.path, node, token, options_.kind, options_.lock.note));
    } else if (!options_.settings.quiet) {
      print_line("held " + display_text(options_.path) + ' ' + token + ' ' + node);
    }
    if (ready_.get() >= 0) (void)!::write(ready_.get(), "ready\n", 6);
    ready_.reset();
    notify_service("READY=1\nSTATUS=holds " + display_text(options_.path) +
                   "\nMAINPID=" + std::to_string(::getpid()));
  }

  void release() {
    hold_.release();
    if (is_settled(client_, kReleaseTimeout)) return;
    say(unconfirmed_text(client_.session_timeout()));
  }

  void say(const std::string& text) const { cli::say(options_, text); }

  const RunOptions& options_;
  UniqueFd ready_;
  SignalReader signals_;
  TaskQueue tasks_;
  Waiter waiter_;
  std::stop_source stop_;
  HeldLock hold_;
  std::exception_ptr error_;
  bool is_answered_ = false;
  std::optional<int> signal_;
  int signals_received_ = 0;
  std::optional<Instant> signalled_at_;  ///< of the first signal
  // Its destructor ends the acquire, which uses the members above.
  Client client_;
  LockFunction acquire_;
};

}  // namespace

Action declare_hold(CLI::App& options) {
  options.footer(
      "Holds until INT, TERM, HUP or QUIT. A program that works under this hold must end when "
      "zklock ends. Use `zklock run` if you can.");
  const auto to = std::make_shared<HoldOptions>();
  declare_lock_options(options, to->lock);
  declare_option(options, "--ready-fd", "N", "Write a line to descriptor N when it holds",
                 [to](const auto& text) { to->ready_fd = ready_descriptor(text); });
  return {&to->lock.path, [to](const Invocation& invocation) {
            check_lock_options(to->lock, invocation);
            return std::make_unique<Holding>(*to)->go();
          }};
}

}  // namespace zklock::cli
