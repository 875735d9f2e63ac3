// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/io/events.h"
#include "zklock/lock_observer.h"

namespace zklock::cli {

namespace {

/// Returns "12:04:31" in the local time zone.
std::string time_of_day(WallTime time) {
  const std::time_t whole = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  std::string text(8, ' ');
  if (::localtime_r(&whole, &parts) == nullptr) return text;
  text.resize(text.size() + 1);  // for the terminating zero
  text.resize(std::strftime(text.data(), text.size(), "%H:%M:%S", &parts));
  return text;
}

std::string state_text(const LockState& state, WallTime now) {
  if (state.is_free() && !state.lock_delay) return "free";
  std::string text = state.lock_delay ? delay_text(*state.lock_delay) : "not held";
  if (!state.holders.empty()) {
    text = "held by " + text_of(state.holders.front());
    if (state.holding > 1) text += " and " + std::to_string(state.holding - 1) + " more";
    const auto held = hold_age(state.holders.front(), now);
    if (held && held->is_exact) text += " for " + text_of(Duration(held->age));
  }
  return text + "; " + std::to_string(state.waiting) + " waiting";
}

/// Prints the changes, on the threads of the client.
class ChangePrinter {
 public:
  ChangePrinter(std::string path, bool is_json) : path_(std::move(path)), is_json_(is_json) {}

  void on_state(const LockState& state) {
    const WallTime now = std::chrono::system_clock::now();
    SurveyedLock lock;
    lock.path = path_;
    lock.is_delayed = state.lock_delay.has_value();
    lock.state = state;
    print(now, "state", &lock, state_text(state, now));
  }
  void on_connection(ConnectionState state) {
    const bool is_connected =
        state == ConnectionState::connected || state == ConnectionState::reconnected;
    const char* const kind = is_connected ? "connected" : "disconnected";
    print(std::chrono::system_clock::now(), kind, nullptr, kind);
  }
  /// Returns the error number of the standard output; 0 without an error.
  int error() const noexcept { return error_; }
  /// Prints nothing more. Returns false if a line is being printed, as to a pipe that is full.
  bool stop() {
    is_stopped_ = true;
    const std::unique_lock guard(mutex_, std::try_to_lock);
    return guard.owns_lock();
  }

 private:
  void print(WallTime now, const char* kind, const SurveyedLock* lock, const std::string& text) {
    const std::lock_guard guard(mutex_);
    if (is_stopped_ || error_ != 0) return;
    error_ =
        try_print_line(is_json_ ? json::change(now, kind, lock) : time_of_day(now) + "  " + text);
  }

  const std::string path_;
  const bool is_json_;
  std::mutex mutex_;
  std::atomic<bool> is_stopped_{false};
  std::atomic<int> error_{0};
};

int watch(const Settings& settings, const std::string& path) {
  SignalReader signals;  // before the client has threads
  const auto client = view_client(settings);
  ChangePrinter printer(path, settings.json);
  const auto connection =
      client->add_listener([&printer](ConnectionState state) { printer.on_connection(state); });
  LockObserver observer(*client, path);
  (void)observer.state();  // throws without a server, and without permission
  const auto changes =
      observer.add_listener([&printer](const LockState& state) { printer.on_state(state); });
  Waiter waiter;
  while (printer.error() == 0) {
    waiter.wait({signals.fd()}, LeaseClock::now() + std::chrono::seconds(1));
    while (const auto signal = signals.next()) {
      if (!ends_wait(signal->number)) continue;
      // The listener would block the destructors. The servers end the session by its timeout.
      if (!printer.stop()) std::_Exit(0);
      return 0;
    }
  }
  if (printer.error() == EPIPE) return 0;  // the reader has read enough
  throw Failure(ExitCode::kOutput,
                "standard output: " + std::generic_category().message(printer.error()));
}

}  // namespace

Action declare_watch(CLI::App& options) {
  const auto path = std::make_shared<std::string>();
  options.add_option("PATH", *path, "Path of the lock")->required()->type_name("");
  return {path.get(),
          [path](const Invocation& invocation) { return watch(invocation.settings, *path); }};
}

}  // namespace zklock::cli
