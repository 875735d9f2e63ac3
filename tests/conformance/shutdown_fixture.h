// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {

class Shutdown : public LockTest {
 protected:
  std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  ReentrantMutex others_mutex_{*other_, kPath};

  // Ends the session of the client. The client itself may end it first, when its connection is
  // taken over.
  void end_session(const Client& client) const {
    try {
      expire_session(chroot_.hosts(), client.session_id());
    } catch (const UnknownSession&) {
    }
  }
};

}  // namespace zklock::testing
