// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

namespace zklock::testing {

// A logger whose every line, of any level, is kept.
class LogCapture {
 public:
  LogCapture() { logger_->set_level(spdlog::level::trace); }

  std::shared_ptr<spdlog::logger> logger() const { return logger_; }

  std::string text() const {
    std::string all;
    for (const std::string& line : sink_->last_formatted()) all += line;
    return all;
  }
  bool contains(const std::string& part) const { return text().find(part) != std::string::npos; }

 private:
  static constexpr std::size_t kLines = 100'000;
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kLines);
  std::shared_ptr<spdlog::logger> logger_ = std::make_shared<spdlog::logger>("capture", sink_);
};

}  // namespace zklock::testing
