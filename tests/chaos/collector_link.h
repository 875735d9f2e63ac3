// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

namespace zklock::chaos {

// A client's connection to the collector, which defines the lines. Ends the process if the
// collector is unreachable.
//
// Thread-safety: all members may be called by any thread.
class CollectorLink {
 public:
  // Throws std::system_error.
  explicit CollectorLink(const std::string& socket_path);
  ~CollectorLink();
  CollectorLink(const CollectorLink&) = delete;
  CollectorLink& operator=(const CollectorLink&) = delete;

  // Sends one line. `line` has no line end.
  void send_line(const std::string& line);
  // Sends one line and blocks until the answer. Returns whether it is "1".
  bool query(const std::string& line);

 private:
  void send(const std::string& line) const;

  std::mutex mutex_;
  const int fd_;
};

}  // namespace zklock::chaos
