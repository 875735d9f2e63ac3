// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/failure.h"

namespace zklock::cli {

int exit_code_of(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_path:
    case Errc::invalid_hosts:
    case Errc::no_chroot:
    case Errc::bad_data:
    case Errc::settings_mismatch:
    case Errc::sequence_exhausted:
    case Errc::would_deadlock:
    case Errc::no_node:
    case Errc::node_exists:
    case Errc::not_empty:
    case Errc::too_large: return ExitCode::kData;
    case Errc::invalid_option: return ExitCode::kUsage;
    case Errc::not_connected:
    case Errc::read_only:
    case Errc::server_error:
    case Errc::quota_exceeded:
    case Errc::outcome_unknown:
    case Errc::session_expired:
    case Errc::node_deleted: return ExitCode::kUnavailable;
    case Errc::version_mismatch: return ExitCode::kNotAcquired;
    case Errc::no_auth:
    case Errc::auth_failed: return ExitCode::kNoPermission;
    case Errc::invalid_acl:
    case Errc::unsupported: return ExitCode::kConfiguration;
    case Errc::lock_lost: return ExitCode::kLost;
    case Errc::not_owner:
    case Errc::closed:
    case Errc::forked:
    case Errc::too_many_nodes:
    case Errc::too_many_watches: return ExitCode::kInternal;
  }
  return ExitCode::kInternal;
}

}  // namespace zklock::cli
