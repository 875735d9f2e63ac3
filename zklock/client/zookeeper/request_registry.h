// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <zookeeper/zookeeper.h>

#include "zklock/client/threads/process_mutex.h"

namespace zklock::client {

/// Identifies one request to the C client while its completion is awaited.
using Ticket = std::uintptr_t;

/// The results of a request to the C client. The pointers are valid only during the call of
/// CompletionSink::completed(). They are null if the request has no such result, or failed.
struct Completion {
  int code = ZOK;
  const Stat* stat = nullptr;
  const char* value = nullptr;
  int length = 0;  ///< bytes of `value`, if data; -1: null
  const String_vector* strings = nullptr;
  const ACL_vector* acl = nullptr;
};

class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Receives a completion, on a thread of the C client.
  virtual void completed(Ticket ticket, const Completion& completion) = 0;
};

/// Passes each completion of the C client to the sink of its ticket. The C client returns one
/// pointer with a completion. Some completions come late, twice or never (ZOOKEEPER-3868). So that
/// pointer is a number, the ticket: an unknown ticket is harmless, while an object's address would
/// dangle.
///
/// The process has one registry, which is never destroyed.
///
/// Thread-safety: all members, from any thread.
class RequestRegistry {
 public:
  static RequestRegistry& instance();

  /// Returns a new ticket. REQUIRES: `sink` lives until its tickets are completed or forgotten.
  Ticket expect(CompletionSink& sink);
  void forget(Ticket ticket);
  void forget_all(const CompletionSink& sink);
  std::size_t size() const;

  static const void* as_pointer(Ticket ticket) noexcept;

  /// The completion functions for the C client. `data` is as_pointer() of a ticket.
  static void on_void(int code, const void* data) noexcept;
  static void on_stat(int code, const Stat* stat, const void* data) noexcept;
  static void on_data(int code, const char* value, int length, const Stat* stat,
                      const void* data) noexcept;
  static void on_strings(int code, const String_vector* strings, const Stat* stat,
                         const void* data) noexcept;
  static void on_acl(int code, ACL_vector* acl, Stat* stat, const void* data) noexcept;
  static void on_string_stat(int code, const char* value, const Stat* stat,
                             const void* data) noexcept;

 private:
  void complete(const void* data, const Completion& completion);

  Mutex& mutex_ = process_mutex(ProcessMutex::requests);
  Ticket last_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  std::unordered_map<Ticket, CompletionSink*> awaited_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::client
