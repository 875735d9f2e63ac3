// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <zookeeper/zookeeper.h>

namespace zklock::client {

/// Identifies one request to the C client while its completion is awaited. 0: none.
using PendingId = std::uintptr_t;

/// The results of a request to the C client. The pointers are valid only during the call of
/// CompletionSink::completed(). They are null if the request has no such result, or failed.
struct Completion {
  int code = ZOK;
  const Stat* stat = nullptr;
  const char* value = nullptr;
  int length = 0;  ///< of `value`, in bytes; -1: no data
  const String_vector* strings = nullptr;
};

/// Receives the completions of one handle of the C client. The C client passes the `data` pointer
/// of a request to its completion. Some completions come late, twice or never (ZOOKEEPER-3868), so
/// the address of an object could dangle. `data` is a PendingId instead: a completion with an
/// unknown id is ignored.
///
/// Each handle has a thread that runs only its events and completions. Before any request is sent,
/// a session event arrives on that thread, and its handler calls receive_here(). While the handle
/// is being closed, the closing thread can report completions too. They are ignored.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Receives a completion, on a thread of the C client.
  virtual void completed(PendingId id, const Completion& completion) = 0;

  /// From now on, this sink receives the completions of the calling thread. REQUIRES: the sink
  /// lives until the thread ends.
  void receive_here() noexcept;

  static const void* as_pointer(PendingId id) noexcept;

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
};

}  // namespace zklock::client
