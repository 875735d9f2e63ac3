// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <zookeeper/zookeeper.h>

namespace zklock::client {

/// Names one call of the C client while its completion is awaited.
using Ticket = std::uintptr_t;

/// What a completion brings. The pointers live as long as the call; they are null where the call
/// has no such result, or failed.
struct Completion {
  int code = ZOK;
  const Stat* stat = nullptr;
  const char* value = nullptr;
  int length = 0;  ///< of value, where it is data; -1: null data
  const String_vector* strings = nullptr;
  const ACL_vector* acl = nullptr;
};

class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// On a thread of the C client.
  virtual void completed(Ticket ticket, const Completion& completion) = 0;
};

/// Leads completions of the C client to whom they belong, by number. A completion carries one
/// pointer, and some come late, twice or never (ZOOKEEPER-3868): a number that is not awaited any
/// more is harmless, where a pointer would dangle.
///
/// One for the process, never destroyed. Thread-safety: all members, from any thread.
class RequestRegistry {
 public:
  static RequestRegistry& instance();

  /// `sink` must live until its tickets are completed or forgotten.
  Ticket expect(CompletionSink& sink);
  void forget(Ticket ticket);
  void forget_all(const CompletionSink& sink);
  std::size_t size() const;

  static const void* as_pointer(Ticket ticket) noexcept;

  /// The C client's completion functions; `data` is as_pointer() of a ticket.
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

  // Guarded by ProcessMutex::requests:
  Ticket last_ = 0;
  std::unordered_map<Ticket, CompletionSink*> awaited_;
};

}  // namespace zklock::client
