// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/core/session.h"
#include "zklock/core/validity_period.h"

namespace zklock::core {

/// One lease of a session: the time for which the session is certain to be alive. All holds granted
/// in that time share it. Quorum answers extend it. A reconnect with a shorter session timeout may
/// shorten it. A lapsed lease never becomes valid again; later grants of the session belong to a
/// new lease.
///
/// Thread-safety: all members may be called by any thread; lock-free.
class Lease : public ValidityPeriod {
 public:
  explicit Lease(SessionId session, Instant valid_until) noexcept
      : ValidityPeriod(valid_until), session_(session) {}

  SessionId session() const noexcept { return session_; }

 private:
  const SessionId session_;
};

}  // namespace zklock::core
