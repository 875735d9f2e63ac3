// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/log.h"

namespace zklock::client {

// Quirk: the C client passes its log lines to a function without a context argument, with the level
// as a part of the text. The level is one for the process, and lines of a TLS handle go to the
// standard error output before it has the function. A TLS file that cannot be loaded is read again
// at once, for ever: then forward() delays the thread. No report is known.
// Needed by: 3.8.0.
// When it is mended: pass the Log as the context, and delete this.

struct LogTarget;

/// Passes the log lines of the C client to the log of one client, and to a ConnectFailure.
///
/// Every bridge has a function of its own, from a fixed set. When all are in use, a further bridge
/// logs one warning and then nothing, and knows no failure. If the log is the standard error
/// output, no line is logged.
///
/// Thread-safety: callback() and connect_failure(), from any thread. REQUIRES: the object outlives
/// every handle that has its callback.
class LogBridge {
 public:
  using Callback = void (*)(const char* message);

  /// `secrets` never appear in the log: each is replaced by "***". `on_failure` is called on the
  /// I/O thread of the C client, if ConnectFailure::on_line() returns true.
  LogBridge(std::shared_ptr<Log> log, std::vector<std::string> secrets,
            std::function<void()> on_failure = {});
  ~LogBridge();
  LogBridge(const LogBridge&) = delete;
  LogBridge& operator=(const LogBridge&) = delete;

  /// Returns the callback for zookeeper_init2. It is never null.
  Callback callback() const noexcept;

  /// Returns ConnectFailure::text() of the lines so far.
  std::string connect_failure(std::string_view servers) const;

  /// The maximum count of bridges at a time.
  static constexpr std::size_t kMaxSlots = 256;

 private:
  static constexpr std::size_t kNoSlot = kMaxSlots;
  const std::shared_ptr<LogTarget> target_;
  std::size_t slot_ = kNoSlot;
};

/// Silences the C client during its lifetime, for all handles of the process. Lines of other
/// clients are lost meanwhile.
///
/// REQUIRES: only one object exists at a time.
class CClientSilence {
 public:
  CClientSilence();
  ~CClientSilence();
  CClientSilence(const CClientSilence&) = delete;
  CClientSilence& operator=(const CClientSilence&) = delete;
};

}  // namespace zklock::client
