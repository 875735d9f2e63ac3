// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/log_bridge.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include "zklock/client/zookeeper/quirks/connect_failure.h"

// The level of the C client. The header with this declaration does not compile outside the C
// client.
extern "C" ZooLogLevel logLevel;

namespace zklock::client {

struct LogTarget {
  const std::shared_ptr<Log> log;
  const std::vector<std::string> secrets;
  const std::function<void()> on_failure;
  Mutex mutex = {};
  ConnectFailure failure ZKLOCK_GUARDED_BY(mutex) = {};
};

namespace {

// The C client takes 0 for "no lines", although the enumeration has no such value.
constexpr auto kNoLines = static_cast<ZooLogLevel>(0);

constexpr std::chrono::milliseconds kPauseAfterTlsFileError{100};

// Never destroyed: the C client's threads of a handle that was not closed may log at process exit.
class Table {
 public:
  static Table& instance() {
    static auto* const kTable = new Table;
    return *kTable;
  }

  // fork() waits for the mutex. So the child finds it unlocked, and the table complete.
  Table() { ::pthread_atfork(&lock, &unlock, &unlock); }

  // Returns the index of the slot, or kMaxSlots if all are in use.
  std::size_t take(const std::shared_ptr<LogTarget>& target) {
    const MutexLock guard(mutex_);
    const auto slot = std::ranges::find(slots_, nullptr);
    if (slot != slots_.end()) *slot = target;
    adapt_level();
    return static_cast<std::size_t>(slot - slots_.begin());
  }

  void release(std::size_t index) {
    std::shared_ptr<LogTarget> released;  // its log may run a user's destructor
    const MutexLock guard(mutex_);
    released.swap(slots_[index]);
    adapt_level();
  }

  std::shared_ptr<LogTarget> target(std::size_t index) {
    const MutexLock guard(mutex_);
    return slots_[index];
  }

  void silence() {
    const MutexLock guard(mutex_);
    silent_ = true;
    level_after_silence_ = logLevel;
    zoo_set_debug_level(kNoLines);
  }

  void end_silence() {
    const MutexLock guard(mutex_);
    silent_ = false;
    set_level(level_after_silence_);
  }

 private:
  static void lock() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.lock(); }
  static void unlock() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.unlock(); }

  // The log level of the C client is global. It is above its default only while a log accepts debug
  // lines.
  void adapt_level() ZKLOCK_REQUIRES(mutex_) {
    const bool wanted = std::ranges::any_of(
        slots_, [](const auto& target) { return target && target->log->accepts(LogLevel::debug); });
    if (wanted == debug_) return;
    debug_ = wanted;
    set_level(wanted ? ZOO_LOG_LEVEL_DEBUG : ZOO_LOG_LEVEL_INFO);
  }

  void set_level(ZooLogLevel level) ZKLOCK_REQUIRES(mutex_) {
    if (silent_) {
      level_after_silence_ = level;
    } else {
      zoo_set_debug_level(level);
    }
  }

  Mutex mutex_;
  std::array<std::shared_ptr<LogTarget>, LogBridge::kMaxSlots> slots_ ZKLOCK_GUARDED_BY(mutex_);
  bool debug_ ZKLOCK_GUARDED_BY(mutex_) = false;
  bool silent_ ZKLOCK_GUARDED_BY(mutex_) = false;
  ZooLogLevel level_after_silence_ ZKLOCK_GUARDED_BY(mutex_) = ZOO_LOG_LEVEL_INFO;
};

// Made when the library is loaded: no thread forks while it is made.
const bool kTableIsMade = (Table::instance(), true);

struct Line {
  LogLevel level = LogLevel::info;
  std::string_view text;
};

// The format of a line: "2024-01-31 12:00:00,000:4711(0x7f..):ZOO_WARN@function@123: text".
Line parse(std::string_view message) {
  constexpr std::pair<std::string_view, LogLevel> kLevels[] = {
      {":ZOO_ERROR@", LogLevel::error},
      {":ZOO_WARN@", LogLevel::warning},
      {":ZOO_INFO@", LogLevel::info},
      {":ZOO_DEBUG@", LogLevel::debug},
  };
  Line line{LogLevel::info, message};
  auto first = std::string_view::npos;  // the text itself may contain a marker
  for (const auto& [marker, level] : kLevels) {
    const auto at = message.find(marker);
    if (at >= first) continue;
    first = at;
    line = {level, message.substr(at + marker.size())};
  }
  while (!line.text.empty() && (line.text.back() == '\n' || line.text.back() == '\r')) {
    line.text.remove_suffix(1);
  }
  return line;
}

std::string without(std::string text, const std::vector<std::string>& secrets) {
  constexpr std::string_view kHidden = "***";
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    for (auto at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kHidden.size())) {
      text.replace(at, secret.size(), kHidden);
    }
  }
  return text;
}

// A secret may be part of a longer one.
std::vector<std::string> longest_first(std::vector<std::string> secrets) {
  std::sort(secrets.begin(), secrets.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return secrets;
}

// Returns whether the C client cannot use a TLS file. It would try again at once, and again.
bool is_tls_file_error(std::string_view text) noexcept {
  return text.find(": Failed to load ") != std::string_view::npos ||
         text.find(": SSL_CTX_check_private_key failed") != std::string_view::npos;
}

// Called by C code, so it must not throw.
void forward(std::size_t index, const char* message) noexcept {
  try {
    const auto target = Table::instance().target(index);
    if (!target || message == nullptr) return;
    const Line line = parse(message);
    const bool is_logged = !target->log->uses_stderr() && target->log->accepts(line.level);
    if (line.level == LogLevel::debug && !is_logged) return;
    const std::string text = without(std::string(line.text), target->secrets);
    bool failed = false;
    if (line.level != LogLevel::debug) {
      const MutexLock guard(target->mutex);
      failed = target->failure.on_line(text, line.level == LogLevel::error);
    }
    if (failed && target->on_failure) target->on_failure();
    // Delays the C client's thread, which would use a processor until the file is mended.
    if (is_tls_file_error(text)) std::this_thread::sleep_for(kPauseAfterTlsFileError);
    if (is_logged) target->log->write(line.level, "zookeeper client: " + text);
  } catch (...) {  // the line is lost
  }
}

template <std::size_t Index>
void trampoline(const char* message) noexcept {
  forward(Index, message);
}

void silent(const char* /*message*/) noexcept {}

template <std::size_t... Index>
constexpr auto make_trampolines(std::index_sequence<Index...> /*indices*/) {
  return std::array<LogBridge::Callback, sizeof...(Index)>{&trampoline<Index>...};
}
constexpr auto kTrampolines = make_trampolines(std::make_index_sequence<LogBridge::kMaxSlots>());

}  // namespace

LogBridge::LogBridge(std::shared_ptr<Log> log, std::vector<std::string> secrets,
                     std::function<void()> on_failure)
    : target_(
          new LogTarget{std::move(log), longest_first(std::move(secrets)), std::move(on_failure)}),
      slot_(Table::instance().take(target_)) {
  if (slot_ == kNoSlot && !target_->log->uses_stderr()) {
    target_->log->write(LogLevel::warning,
                        "zklock: more than " + std::to_string(kMaxSlots) +
                            " clients log; the ZooKeeper C client of this one is silent");
  }
}

LogBridge::~LogBridge() {
  if (slot_ != kNoSlot) Table::instance().release(slot_);
}

std::string LogBridge::connect_failure(std::string_view servers) const {
  const MutexLock guard(target_->mutex);
  return target_->failure.text(servers);
}

LogBridge::Callback LogBridge::callback() const noexcept {
  return slot_ == kNoSlot ? &silent : kTrampolines[slot_];
}

CClientSilence::CClientSilence() {
  Table::instance().silence();
}

CClientSilence::~CClientSilence() {
  Table::instance().end_silence();
}

}  // namespace zklock::client
