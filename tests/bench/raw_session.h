// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include <zookeeper/zookeeper.h>

#include "bench/samples.h"

namespace zklock::bench {

/// A handle of the C client, connected, with a credential of its own. Errors end the process: there
/// is nothing to be measured any more.
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

  /// Creates what is missing of a path.
  void make_path(const std::string& path);
  /// 0 when there is no such node.
  int count_children(const std::string& path);

 private:
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* self);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  zhandle_t* handle_ = nullptr;
};

/// Ends the process when `code` is not ZOK.
void check(int code, const char* what);

}  // namespace zklock::bench
