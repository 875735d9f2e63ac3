// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

namespace zklock::chaos {

// A client's line to the desk: see there for what is said. Ends the process when nobody is there.
//
// Thread-safety: all members may be called by any thread.
class DeskLink {
 public:
  // Throws std::system_error.
  explicit DeskLink(const std::string& socket_path);
  ~DeskLink();
  DeskLink(const DeskLink&) = delete;
  DeskLink& operator=(const DeskLink&) = delete;

  // One line, without its end.
  void tell(const std::string& line);
  // And waits for the answer.
  bool ask(const std::string& line);

 private:
  void send(const std::string& line);

  std::mutex mutex_;
  const int fd_;
};

}  // namespace zklock::chaos
