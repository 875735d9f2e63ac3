// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/running_callbacks.h"

namespace zklock::detail {

RunningCallbacks::Call::Call(RunningCallbacks& all, std::string_view what,
                             std::string_view path) noexcept
    : all_(all), what_(what), path_(path) {
  const client::MutexLock guard(all_.mutex_);
  all_.calls_.push_back(*this);
}

RunningCallbacks::Call::~Call() {
  const client::MutexLock guard(all_.mutex_);
  all_.calls_.erase(all_.calls_.iterator_to(*this));
}

void RunningCallbacks::Call::hold_ended(core::Instant now) noexcept {
  const client::MutexLock guard(all_.mutex_);
  if (!since_) since_ = now;
}

std::optional<std::pair<std::string, core::Instant>> RunningCallbacks::oldest() const {
  const client::MutexLock guard(mutex_);
  const Call* first = nullptr;
  for (const Call& call : calls_) {
    if (call.since_ && (first == nullptr || *call.since_ < *first->since_)) first = &call;
  }
  if (first == nullptr) return std::nullopt;
  return std::pair(std::string(first->what_).append(first->path_), *first->since_);
}

}  // namespace zklock::detail
