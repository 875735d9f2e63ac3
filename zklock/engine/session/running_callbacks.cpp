// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/running_callbacks.h"

#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

RunningCallbacks::ScopedCall::ScopedCall(EngineContext& context, std::string_view what,
                                         std::string_view path, core::Instant since) noexcept
    : context_(context), call_{.what = what, .path = path, .since = since} {
  const EngineLock lock({context_});
  context_.records().callbacks.add(call_);
}

RunningCallbacks::ScopedCall::~ScopedCall() {
  if (context_.forked()) return;  // the callback has called fork(), and returns in the child
  const EngineLock lock({context_});
  context_.records().callbacks.remove(call_);
}

std::optional<std::pair<std::string, core::Instant>> RunningCallbacks::oldest() const {
  const Call* first = nullptr;
  for (const Call& call : calls_) {
    if (call.since && (first == nullptr || *call.since < *first->since)) first = &call;
  }
  if (first == nullptr) return std::nullopt;
  return std::pair(std::string(first->what).append(first->path), *first->since);
}

}  // namespace zklock::detail
