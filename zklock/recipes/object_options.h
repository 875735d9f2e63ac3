// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "zklock/core/hold_limit.h"
#include "zklock/core/local_batch.h"
#include "zklock/mutex_options.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/lock_events.h"

namespace zklock::recipes {

/// How long holds last by an object's options. Throws Error(invalid_option) for a time that is not
/// positive.
core::HoldLimit checked_limit(const MutexOptions& options, const std::string& path);

/// The same for one call, which may say otherwise.
core::HoldLimit checked_limit(core::HoldLimit of_object,
                              std::optional<std::chrono::milliseconds> of_call,
                              const std::string& path);

/// Throws Error(invalid_option) for a delay that is negative, or longer than a day.
std::chrono::milliseconds checked_delay(std::chrono::milliseconds lock_delay,
                                        const std::string& path);

/// What contenders of one client share by an object's options. Throws Error(invalid_option) for a
/// batch below 1, and for a negative time.
core::LocalTerms checked_local(const MutexOptions& options, const std::string& path);

/// Of objects that share nothing: throws Error(invalid_option) where they are to.
void check_not_local(const MutexOptions& options, const std::string& path);

/// The listener of an object; null without one.
std::shared_ptr<LockLine> make_line(const ClientCore& core, const MutexOptions& options);

}  // namespace zklock::recipes
