// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zklock/core/lazy.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/log_line.h"
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/limited_log.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// Reports the events of one contender to the log, and to the listener of its object, if there is
/// one.
///
/// Thread-safety: any thread may call any member. REQUIRES for report(): the engine mutex is held,
/// which keeps the events in the order in which they happened.
class LockEventReporter {
 public:
  /// `context` and `path` outlive this object.
  LockEventReporter(EngineContext& context, const core::LockPath& path, const Caller& caller,
                    LockEventSink sink);

  const Owner& owner() const noexcept { return owner_; }
  bool has_listener() const noexcept { return static_cast<bool>(*sink_); }
  void report(LockEvent::Kind kind, FencingToken token, std::size_t position = 0,
              std::optional<LossReason> reason = {}) const noexcept;

  // The lines of the log have the path, the owner, the label and the note. A caller that formats a
  // line checks logs() first.
  bool logs(LogLevel level) const noexcept;
  std::string line(std::string_view sentence, core::LogFields fields) const;
  void log(LogLevel level, LogKind kind, std::string_view sentence,
           core::LogFields fields) const noexcept;

 private:
  EngineContext& context_;
  const core::LockPath& path_;
  const Owner owner_;
  const std::shared_ptr<const CallTexts> texts_;  ///< null: none
  const core::Lazy<LockEventSink> sink_;
};

}  // namespace zklock::detail
