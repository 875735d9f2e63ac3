// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/details/os.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

namespace zklock::testing {

// A logger that keeps every line of every level.
class LogCapture {
 public:
  LogCapture() { logger_->set_level(spdlog::level::trace); }

  std::shared_ptr<spdlog::logger> logger() const { return logger_; }

  // Returns the lines without the line ends that the sink has added.
  std::vector<std::string> lines() const {
    std::vector<std::string> all = sink_->last_formatted();
    for (std::string& line : all)
      line.erase(line.size() - std::strlen(spdlog::details::os::default_eol));
    return all;
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) all += line + '\n';
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
