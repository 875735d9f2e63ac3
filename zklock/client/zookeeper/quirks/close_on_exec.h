// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <sys/socket.h>

#include "zklock/client/port/mutex.h"

namespace zklock::client {

// Quirk: the C client opens its pipe and sockets without FD_CLOEXEC, and does not expose them. So
// zklock searches the descriptors of the process and sets the flag afterwards. A program that
// another thread starts in between inherits them. No report is known.
// Needed by: 3.8.0.
// When it is mended: delete this and ZkHandle::mark_close_on_exec(), if zookeeper_init_ssl() no
// longer uses strtok().

/// Sets FD_CLOEXEC on the pipe that the C client opens while this object lives. If other threads
/// create non-blocking pipes without that flag meanwhile, no pipe is marked, because a pipe may be
/// meant for a child process. The constructor blocks while another object exists. A child of fork()
/// has none.
///
/// Thread-safety: none.
class PipeCloseOnExec {
 public:
  PipeCloseOnExec();
  PipeCloseOnExec(const PipeCloseOnExec&) = delete;
  PipeCloseOnExec& operator=(const PipeCloseOnExec&) = delete;
  /// Marks the pipe. REQUIRES: the C client has opened it.
  void mark() const;

 private:
  /// Returns all descriptors of non-blocking pipe ends without FD_CLOEXEC, each with the name of
  /// its pipe.
  static std::map<int, std::string> candidates();

  const MutexLock exclusive_;
  const std::map<int, std::string> before_;
};

/// Sets FD_CLOEXEC on every socket of this process connected to `peer`, including those of other
/// libraries. Errors are ignored.
void mark_connections_close_on_exec(const sockaddr_storage& peer, socklen_t length);

}  // namespace zklock::client
