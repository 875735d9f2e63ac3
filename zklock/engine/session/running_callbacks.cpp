// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/running_callbacks.h"

#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

RunningCallbacks::Call::Call(EngineContext& core, std::string_view what, std::string_view path,
                             std::optional<core::Instant> since) noexcept
    : core_(core), what_(what), path_(path), since_(since) {
  const EngineLock lock({core_});
  core_.records().callbacks.calls_.push_back(*this);
}

RunningCallbacks::Call::~Call() {
  const EngineLock lock({core_});
  auto& all = core_.records().callbacks.calls_;
  all.erase(all.iterator_to(*this));
}

std::optional<std::pair<std::string, core::Instant>> RunningCallbacks::oldest() const {
  const Call* first = nullptr;
  for (const Call& call : calls_) {
    if (call.since_ && (first == nullptr || *call.since_ < *first->since_)) first = &call;
  }
  if (first == nullptr) return std::nullopt;
  return std::pair(std::string(first->what_).append(first->path_), *first->since_);
}

}  // namespace zklock::detail
