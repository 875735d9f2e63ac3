// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <zookeeper/zookeeper.h>

namespace zklock::client {

// Quirk: callbacks come late, twice or never. Completions that are outstanding when a handle is
// closed may never come (ZOOKEEPER-3868). Others come on the closing thread. With TLS, a close can
// hang in a handshake with a silent server, and the threads of the handle continue.
// Needed by: 3.8.0, and close_within() by 3.9.5 with TLS.
// When it is mended: delete this class, and pass the address of a Call as `data`.

/// Identifies one request to the C client while its completion is awaited. 0: none.
using PendingId = std::uintptr_t;

/// The results of a request to the C client. The pointers are valid only during the call of
/// HandleListener::completed(). They are null if the request has no such result, or failed.
struct Completion {
  int code = ZOK;
  const Stat* stat = nullptr;
  const char* value = nullptr;
  int length = 0;  ///< of `value`, in bytes; -1: no data
  const String_vector* strings = nullptr;
};

/// Receives the callbacks of one handle, never concurrently, on a thread of the C client. The first
/// may come before the handle is opened.
class HandleListener {
 public:
  virtual ~HandleListener() = default;
  virtual void on_session_event(int state) = 0;
  virtual void on_watch_event(int type, const std::string& path) = 0;
  /// `id` is that of the request. It may be unknown: then the completion is ignored.
  virtual void completed(PendingId id, const Completion& completion) = 0;

  /// Returns whether the calling thread is in a call of this listener.
  bool runs_here() const noexcept;
};

/// Passes the callbacks of one handle to its listener, until shut().
///
/// The C client passes the `data` pointer of a request to its completion. The address of an object
/// could dangle, so `data` is a PendingId. The thread of a completion identifies this object: each
/// handle has a thread that runs only its events and completions. Before any request is sent, a
/// session event arrives on that thread. Completions on another thread are ignored.
///
/// Thread-safety: all members, from any thread.
class HandleCallbacks {
 public:
  explicit HandleCallbacks(HandleListener& listener) noexcept : listener_(&listener) {}
  HandleCallbacks(const HandleCallbacks&) = delete;
  HandleCallbacks& operator=(const HandleCallbacks&) = delete;

  /// Called before zookeeper_close().
  void begin_close() noexcept { is_closing_ = true; }
  /// From now on the listener is not called. Blocks until no call of it is running.
  void shut() noexcept;

  static const void* as_pointer(PendingId id) noexcept;

  /// The watcher function for the C client. `context` is this object.
  static void on_event(zhandle_t* handle, int type, int state, const char* path,
                       void* context) noexcept;
  /// The completion functions for the C client. `data` is as_pointer() of a PendingId.
  static void on_void(int code, const void* data) noexcept;
  static void on_stat(int code, const Stat* stat, const void* data) noexcept;
  static void on_data(int code, const char* value, int length, const Stat* stat,
                      const void* data) noexcept;
  static void on_strings(int code, const String_vector* strings, const Stat* stat,
                         const void* data) noexcept;
  static void on_string(int code, const char* value, const void* data) noexcept;
  static void on_string_stat(int code, const char* value, const Stat* stat,
                             const void* data) noexcept;

 private:
  template <class Callback>
  void pass(Callback callback) noexcept;
  static void complete(const void* data, const Completion& completion) noexcept;

  std::atomic<HandleListener*> listener_;  // null after shut()
  std::atomic<int> running_{0};            // count of the calls of the listener
  std::atomic<bool> is_closing_{false};
};

/// Destroys a handle that has `callbacks`, on a thread of its own. Blocks until that is done, but
/// not longer than `longest`. Then the callbacks are shut, and the thread continues alone.
/// `user`: lives until the thread ends, because the log lines of the handle may use it. Returns a
/// pointer that expires when the thread ends. If no thread can be started, destroys the handle on
/// the calling one, without a limit.
std::weak_ptr<const void> close_within(std::chrono::seconds longest,
                                       std::shared_ptr<const void> handle,
                                       HandleCallbacks& callbacks,
                                       std::shared_ptr<const void> user);

}  // namespace zklock::client
