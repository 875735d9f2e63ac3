// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

namespace zklock::chaos {

// A client's connection to the desk, which defines the lines. Ends the process if the desk is
// unreachable.
//
// Thread-safety: all members may be called by any thread.
class DeskLink {
 public:
  // Throws std::system_error.
  explicit DeskLink(const std::string& socket_path);
  ~DeskLink();
  DeskLink(const DeskLink&) = delete;
  DeskLink& operator=(const DeskLink&) = delete;

  // Sends one line. `line` has no line end.
  void tell(const std::string& line);
  // Sends one line and blocks until the answer. Returns whether it is "1".
  bool ask(const std::string& line);

 private:
  void send(const std::string& line);

  std::mutex mutex_;
  const int fd_;
};

}  // namespace zklock::chaos
