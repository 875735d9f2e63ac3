// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>

#include <sys/socket.h>

namespace zklock::client {

// The C client opens its pipe and sockets without FD_CLOEXEC, and keeps their numbers to itself. So
// they are found among the descriptors of the process and marked afterwards. A program that another
// thread starts before that still inherits them.

/// Marks the pipe that the C client opens while this object lives. If other threads open pipes of the
/// same kind meanwhile (non-blocking, not close-on-exec), none is marked: one of them may be meant for
/// a child. One object at a time in the process; the constructor waits for its turn.
///
/// Thread-safety: none.
class PipeCloseOnExec {
 public:
  PipeCloseOnExec();
  PipeCloseOnExec(const PipeCloseOnExec&) = delete;
  PipeCloseOnExec& operator=(const PipeCloseOnExec&) = delete;
  /// The pipe has been opened.
  void mark() const;

 private:
  /// The name of the pipe at each descriptor that is one end of such a pipe.
  static std::map<int, std::string> candidates();

  const std::unique_lock<std::mutex> turn_;
  const std::map<int, std::string> before_;
};

/// Marks every socket of the process that is connected to that address.
void mark_connections_close_on_exec(const sockaddr_storage& peer, socklen_t length);

}  // namespace zklock::client
