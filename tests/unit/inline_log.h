// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "zklock/client/port/log.h"

namespace zklock::client {

/// Runs each task at once.
class InlineDispatcher final : public Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    task();
    return true;
  }
};

/// Returns a log that writes each line before write() returns.
inline std::shared_ptr<Log> inline_log(std::shared_ptr<spdlog::logger> logger, LogSink sink = {},
                                       LogLevel level = LogLevel::info) {
  return std::make_shared<Log>(std::move(logger), std::move(sink), level,
                               std::make_shared<InlineDispatcher>());
}

}  // namespace zklock::client
