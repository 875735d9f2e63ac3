// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class logger;
}

namespace zklock::client {

/// Leads what the C client logs to a spdlog logger.
///
/// The C client calls a plain function with the finished line, so every bridge takes one of a fixed
/// number of such functions. When all are taken, further bridges are silent and say so once. With a
/// null logger nothing is logged anywhere.
///
/// Thread-safety: callback() may be called by any thread while the object lives; no handle may
/// outlive it.
class LogBridge {
 public:
  using Callback = void (*)(const char* message);

  /// `secrets` never appear in the log: where a line contains one, "***" stands in its place.
  LogBridge(std::shared_ptr<spdlog::logger> logger, std::vector<std::string> secrets);
  ~LogBridge();
  LogBridge(const LogBridge&) = delete;
  LogBridge& operator=(const LogBridge&) = delete;

  /// For zookeeper_init2; never null.
  Callback callback() const noexcept;

  /// How many bridges with a logger can live at once.
  static constexpr std::size_t max_slots = 64;

 private:
  static constexpr std::size_t no_slot = max_slots;
  std::size_t slot_ = no_slot;
};

}  // namespace zklock::client
