// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include <zookeeper/zookeeper.h>

#include "bench/samples.h"

namespace zklock::bench {

/// A connected handle of the C client, with its own credential. An error ends the process, because
/// no measure is possible then.
///
/// Thread-safety: all members, from any thread.
class RawSession {
 public:
  explicit RawSession(const std::string& hosts,
                      Clock::duration session_timeout = std::chrono::seconds(10));
  RawSession(const RawSession&) = delete;
  RawSession& operator=(const RawSession&) = delete;
  ~RawSession();

  zhandle_t* handle() const noexcept { return handle_; }

  /// Creates the path and its missing parents.
  void make_path(const std::string& path);
  /// Returns the number of children; 0 if there is no such znode.
  int count_children(const std::string& path);

 private:
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* self);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  zhandle_t* handle_ = nullptr;
};

/// Ends the process if `code` is not ZOK.
void check(int code, const char* what);

}  // namespace zklock::bench
