// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/path_context.h"

namespace zklock::detail {

PathContext::PathContext(std::shared_ptr<EngineContext> core, core::LockPath path)
    : core_(std::move(core)),
      path_(std::move(path)),
      monitor_(std::make_shared<Monitor>(core_, "lock " + path_.str())) {}

PathContext::~PathContext() = default;

}  // namespace zklock::detail
