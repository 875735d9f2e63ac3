// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/log_bridge.h"

#include <algorithm>
#include <array>
#include <utility>

#include <zookeeper/zookeeper.h>

#include "zklock/client/threads/process_mutex.h"
#include "zklock/client/zookeeper/connect_failure.h"

namespace zklock::client {

struct LogTarget {
  const std::shared_ptr<Log> log;
  const std::vector<std::string> secrets;
  Mutex mutex = {};
  ConnectFailure failure ZKLOCK_GUARDED_BY(mutex) = {};
};

namespace {

// Never destroyed: the C client's threads of a handle that was not closed may log at process exit.
class Table {
 public:
  static Table& instance() {
    static auto* const kTable = new Table;
    return *kTable;
  }

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

 private:
  // The log level of the C client is global. It is above its default only while a log accepts debug
  // lines.
  void adapt_level() ZKLOCK_REQUIRES(mutex_) {
    const bool wanted = std::ranges::any_of(
        slots_, [](const auto& target) { return target && target->log->accepts(LogLevel::debug); });
    if (wanted == debug_) return;
    debug_ = wanted;
    zoo_set_debug_level(wanted ? ZOO_LOG_LEVEL_DEBUG : ZOO_LOG_LEVEL_INFO);
  }

  Mutex& mutex_ = process_mutex(ProcessMutex::log);
  std::array<std::shared_ptr<LogTarget>, LogBridge::kMaxSlots> slots_ ZKLOCK_GUARDED_BY(mutex_);
  bool debug_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

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

// Called by C code, so it must not throw.
void forward(std::size_t index, const char* message) noexcept {
  try {
    const auto target = Table::instance().target(index);
    if (!target || message == nullptr) return;
    const Line line = parse(message);
    if (line.level != LogLevel::debug) {
      const MutexLock guard(target->mutex);
      target->failure.on_line(line.text);
    }
    if (target->log->uses_stderr() || !target->log->accepts(line.level)) return;
    const std::string text = without(std::string(line.text), target->secrets);
    target->log->write(line.level, "zookeeper client: " + text);
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

LogBridge::LogBridge(std::shared_ptr<Log> log, std::vector<std::string> secrets)
    : target_(new LogTarget{std::move(log), longest_first(std::move(secrets))}),
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

}  // namespace zklock::client
